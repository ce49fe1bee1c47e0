"""A file whose storage fails is written again from its first byte, or the caller gets its error."""

from __future__ import annotations

import tracemalloc

import pytest
from audioloom_storage import NoSpace
from audioloom_storage.remote import retry
from audioloom_storage.remote.retry import Busy, Outage, Retry, RetryingWriter


class Files:
    """Begins files, each of which may fail at one of its calls, and keeps what they were given."""

    def __init__(self, *fails_at: int, kind: type[Exception] = Outage) -> None:
        self.fails_at, self.kind = list(fails_at), kind
        self.made: list[File] = []

    def __call__(self, earlier: int) -> File:
        assert earlier == len(self.made)
        at = self.fails_at.pop(0) if self.fails_at else 0
        self.made.append(File(at, self.kind))
        return self.made[-1]


class File:
    """Takes at most four bytes at a time, and fails at one call (from 1)."""

    def __init__(self, fails_at: int, kind: type[Exception]) -> None:
        self.fails_at, self.kind, self.calls = fails_at, kind, 0
        self.data, self.state = b"", "open"

    def _called(self) -> None:
        self.calls += 1
        if self.calls == self.fails_at:
            raise self.kind("no answer")

    def write(self, data: memoryview) -> int:
        self._called()
        self.data += data[:4]
        return len(data[:4])

    def finish(self) -> None:
        self._called()
        self.state = "finished"

    def abandon(self) -> None:
        self.state = "abandoned"


def proved() -> Retry:
    """One that knows a cluster which has answered."""
    known = Retry()
    known.answered()
    return known


def write(sink: RetryingWriter, data: bytes) -> None:
    """All of the bytes, as a buffered writer does it."""
    while data:
        data = data[sink.write(memoryview(data)) :]
    sink.finish()


@pytest.mark.parametrize("kind", [Outage, Busy])
@pytest.mark.parametrize("fails_at", range(1, 5))
def test_it_is_begun_again_wherever_it_fails(fails_at: int, kind: type[Exception]) -> None:
    """At each of three writes and at the end: the second file has all the bytes."""
    files = Files(fails_at, kind=kind)
    write(RetryingWriter(files, proved()), b"0123456789")
    first, second = files.made
    assert ("abandoned", "finished", b"0123456789") == (first.state, second.state, second.data)


def test_it_may_fail_again_on_the_way() -> None:
    """Each time from the first byte."""
    files = Files(4, 1, 2, 4)
    write(RetryingWriter(files, proved()), b"0123456789")
    assert ["abandoned"] * 4 + ["finished"] == [file.state for file in files.made]
    assert b"0123456789" == files.made[-1].data


def test_it_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is told when the cluster does not come back."""
    monkeypatch.setattr(retry, "RETRY_SECONDS", 0.2)
    files = Files(*[4] * 99)
    with pytest.raises(Outage):
        write(RetryingWriter(files, proved()), b"0123456789")
    assert "finished" not in {file.state for file in files.made}


def test_a_refusal_is_told_at_once() -> None:
    """A full disk is an answer."""
    files = Files(2, kind=NoSpace)
    with pytest.raises(NoSpace):
        write(RetryingWriter(files, proved()), b"0123456789")
    assert 1 == len(files.made)


def test_a_long_file_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes are gone once they are sent, so the error is told."""
    monkeypatch.setattr(retry, "KEPT_BYTES", 7)
    short, long = Files(3), Files(3)
    write(RetryingWriter(short, proved()), b"0123456")
    with pytest.raises(Outage):
        write(RetryingWriter(long, proved()), b"01234567")
    assert (2, 1) == (len(short.made), len(long.made))


def test_what_is_not_kept_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write of a gigabyte takes no second gigabyte of memory."""

    class Taking(File):
        def write(self, data: memoryview) -> int:
            return len(data)

    monkeypatch.setattr(retry, "KEPT_BYTES", 7)
    sink = RetryingWriter(lambda _: Taking(0, Outage), proved())
    data = bytes(10_000_000)
    tracemalloc.start()
    try:
        assert len(data) == sink.write(memoryview(data))
        assert len(data) > tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_file_that_cannot_be_begun_is_waited_for() -> None:
    """As with any other question."""
    made: list[File] = []

    def begin(earlier: int) -> File:
        assert earlier == len(made)
        made.append(File(0, Outage))
        if len(made) < 3:
            raise Outage("no answer")
        return made[-1]

    write(RetryingWriter(begin, proved()), b"0")
    assert b"0" == made[2].data
