import json

import pytest
from audioloom_yarn_launcher.monitoring.error_lines import MOST_TOLD, error_line

TRACE = """
step 1
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    main()
ValueError: no such label

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "train.py", line 9, in <module>
    close()
OSError: closed already
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all is well\nno error here, only words", ""),
        (TRACE, "ValueError: no such label"),
        (
            "W0000 already registered\nSegmentation fault (core dumped)",
            "Segmentation fault (core dumped)",
        ),
        ("a\nerror: the shard is damaged\n  where  x", "the shard is damaged"),
        (TRACE + "error: it ended", "it ended"),
        ("error: bad data\n  where  x\n  found  a drum\nbye\n  found  y", "bad data: a drum"),
        (
            json.dumps({"level": "error", "event": "a peer was lost", "found": "worker 1"}),
            "a peer was lost: worker 1",
        ),
        (json.dumps({"level": "info", "event": "No space left on device"}), ""),
        ("{not json\nbash: train: command not found", "bash: train: command not found"),
        ("tensorflow.python.framework.errors_impl.InternalError: x",) * 2,
    ],
)
def test_the_line_that_says_what_went_wrong(text: str, expected: str) -> None:
    """The first of a chain; but a stage's own word counts more."""
    assert expected == error_line(text.splitlines())


def test_a_long_line_is_cut() -> None:
    """A person reads it."""
    assert MOST_TOLD == len(error_line([f"ValueError: {'x' * 1000}"]))
