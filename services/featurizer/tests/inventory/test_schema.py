from __future__ import annotations

import pytest
from audioloom_featurizer.errors import DuplicateRecording
from audioloom_featurizer.inventory.schema import batch_of, each_once


@pytest.mark.parametrize(
    ("member", "found"),
    [
        (None, r"found 'a/b\.wav' twice. Remove or rename one of the two"),
        ("b.wav", r"found 'a/b\.wav' twice: .* named 'b\.wav'. Pack the container anew"),
    ],
)
def test_a_recording_that_is_there_twice_is_named(member: str | None, found: str) -> None:
    """With what can be done: nobody can remove a line of a container."""
    batches = [batch_of(path=["a/a.wav", "a/b.wav"]), batch_of(path=["a/b.wav"], member=[member])]
    with pytest.raises(DuplicateRecording, match=found):
        list(each_once(batches, "a"))
