import re

import pytest
from audioloom_yarn_launcher.redaction import (
    MASK,
    VARIABLE,
    fingerprint,
    hidden,
    redact,
    redact_text,
    restore,
)
from hypothesis import given
from hypothesis import strategies as st

SECRET = "hunter2"  # noqa: S105
WORDS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(["--password", "--token", "TOKEN=a", "x://u:p@h", "-Dsecret=b", MASK]),
    ),
    max_size=6,
)


@pytest.mark.parametrize(
    "command",
    [
        ["--password=hunter2"],
        ["--db-password", "hunter2"],
        ["-password", "hunter2"],
        ["--token", "hunter2"],
        ["--hf_token=hunter2"],
        ["HF_TOKEN=hunter2"],
        ["--api-key", "hunter2"],
        ["--apiKey=hunter2"],
        ["AWS_SECRET_ACCESS_KEY=hunter2"],
        ["-Dfs.s3a.secret.key=hunter2"],
        ["--conf", "spark.ssl.keyPassword=hunter2"],
        ["postgres://me:hunter2@db/x"],
        ["--url=https://me:hunter2@host/?a=b"],
        ["https://host/x?a=b&token=hunter2&c=d"],
        ["jdbc:mysql://db/x;user=me;password=hunter2"],
        ["Authorization: Bearer hunter2"],
        ["-H", "authorization: basic hunter2 hunter2"],
        ['{"user": "me", "password": "hunter2"}'],
        ['{"password": "a\\"hunter2"}'],
        ["sh", "-c", "x --password=hunter2 && y"],
        ["--password", "-hunter2"],
    ],
    ids=" ".join,
)
def test_a_secret_that_says_that_it_is_one_is_masked(command: list[str]) -> None:
    """By its option's or variable's name, or by the form of an address or a header."""
    shown = redact(command)
    assert SECRET not in " ".join(shown)
    assert MASK in " ".join(shown)
    assert tuple(command) == restore(shown, hidden(command))
    assert re.fullmatch("[A-Za-z0-9+/]+=*", hidden(command)[VARIABLE])  # for a script of shell


@pytest.mark.parametrize(
    "command",
    [
        ["audioloom-trainer", "run", "hdfs://nn/loom/shards/1f0e", "--epochs=20"],
        ["--tokenizer=bert", "--max-tokens", "5", "--token-count=3"],
        ["--key", "user_id", "--keys=a,b", "--pass-through", "yes", "--compass=north"],
        ["https://host:8080/path?user=me", "user@host:path", "a:b@c"],
        ["--password"],
        ["--password", "--verbose"],
        ["--author=me", "--passes=3"],
    ],
    ids=" ".join,
)
def test_what_is_no_secret_is_shown(command: list[str]) -> None:
    """Ports, tokens of a text, a flag without a value."""
    assert tuple(command) == redact(command)
    assert {} == hidden(command)


@given(WORDS)
def test_what_is_masked_can_be_restored_and_masks_to_itself(command: list[str]) -> None:
    """So a record may be read, shown and compared without a second thought."""
    shown = redact(command)
    assert shown == redact(shown)
    assert tuple(command) == restore(shown, hidden(command))
    assert len(command) == len(shown)


@given(st.text())
def test_any_text_masks_to_itself(text: str) -> None:
    """Once masked, nothing more is taken away."""
    assert redact_text(text) == redact_text(redact_text(text))


def test_a_fingerprint_tells_secrets_apart_for_those_who_know_them() -> None:
    """And the same command twice gives two, by its salt."""
    one, two = ["--password=a"], ["--password=b"]
    assert fingerprint(one, "x") == fingerprint(tuple(one), "x")
    assert fingerprint(one, "x") != fingerprint(two, "x")
    assert fingerprint(one, "x") != fingerprint(one, "y")
