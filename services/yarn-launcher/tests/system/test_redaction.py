import re

from audioloom_stage.redaction import MASK, redact_words
from audioloom_yarn_launcher.system.redaction import VARIABLE, hidden, restore
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(["--password", "--token", "TOKEN=a", "x://u:p@h", "-Dsecret=b", MASK]),
    ),
    max_size=6,
)


def test_what_hides_nothing_needs_no_variable() -> None:
    """And a variable that is needed can stand in a script of shell."""
    assert {} == hidden(["audioloom-trainer", "run", "--epochs=20"])
    assert re.fullmatch("[A-Za-z0-9+/]+=*", hidden(["-p", "hunter2"])[VARIABLE])


@given(WORDS)
def test_what_is_masked_can_be_restored(command: list[str]) -> None:
    """Word for word: the command runs as it was given."""
    assert tuple(command) == restore(redact_words(command), hidden(command))
