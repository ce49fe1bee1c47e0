"""Expect a recording to be refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from audioloom_audio import Kind, RefusedRecording


@contextmanager
def refused(kind: Kind, match: str | None = None) -> Iterator[None]:
    """Expect a refusal of that kind in the block, whose text matches."""
    with pytest.raises(RefusedRecording, match=match) as caught:
        yield
    assert kind == caught.value.kind
