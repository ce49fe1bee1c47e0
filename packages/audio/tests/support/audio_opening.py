"""Open recordings for tests: read a header, or expect a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from audio_settings import settings_of
from audioloom_audio import (
    Kind,
    RawFormat,
    Recording,
    RefusedRecording,
    Source,
    extract,
)


def probe(source: Source, *, name: str = "", raw: RawFormat | None = None) -> Recording:
    """The facts of the header; nothing is decoded."""
    with extract(source, settings_of(raw=raw), name=name) as opened:
        return opened.recording


@contextmanager
def refused(kind: Kind, match: str | None = None) -> Iterator[None]:
    """Expect a refusal of that kind in the block, whose text matches."""
    with pytest.raises(RefusedRecording, match=match) as caught:
        yield
    assert kind == caught.value.kind
