from audioloom_stage.redaction import MASK, redact_words
from audioloom_yarn_launcher.system.redaction import hidden, restore
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
    """Such a command is the usual one."""
    assert {} == hidden(["audioloom-trainer", "run", "--epochs=20"])


@given(WORDS)
def test_what_is_masked_can_be_restored(command: list[str]) -> None:
    """Word for word: the command runs as it was given."""
    assert tuple(command) == restore(redact_words(command), hidden(command))
