from __future__ import annotations

import io

from audioloom_featurizer.sandbox.messages import (
    PAGE_BYTES,
    Heartbeat,
    HeartbeatState,
    MonitoredFile,
)


def test_a_fresh_page_is_at_no_recording() -> None:
    """Whoever looks before anything was told blames nobody."""
    assert (
        HeartbeatState(0, None, "open", None, waits=False)
        == Heartbeat(bytearray(PAGE_BYTES)).read()
    )


def test_what_one_side_tells_the_other_reads() -> None:
    """Number, stage and byte; the first of each is 0, and not none."""
    page = bytearray(PAGE_BYTES)
    told, seen = Heartbeat(page), Heartbeat(page)
    told.start(0)
    told.waiting()
    assert HeartbeatState(2, 0, "open", None, waits=True) == seen.read()
    told.answered(0)
    told.reached("samples")
    assert HeartbeatState(3, 0, "samples", 0, waits=False) == seen.read()
    told.finish()
    assert HeartbeatState(4, None, "open", None, waits=False) == seen.read()


def test_every_read_is_a_sign_of_life() -> None:
    """With the byte that it has come to; and during it, that storage is waited for."""
    heartbeat = Heartbeat()
    waited = []

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            waited.append(heartbeat.read().waits)
            return super().read(size)

    file = MonitoredFile(Slow(b"0123456789"), heartbeat)
    heartbeat.start(3)
    assert b"0123" == file.read(4)
    assert (4, False) == (heartbeat.read().offset, heartbeat.read().waits)
    assert 8 == file.seek(8)
    assert 8 == heartbeat.read().offset
    assert [True] == waited
    assert 1 + 2 + 2 == heartbeat.read().beats
    assert 8 == file.tell()
