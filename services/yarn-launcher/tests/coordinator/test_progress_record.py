import threading
from pathlib import Path

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.coordinator import progress_record
from audioloom_yarn_launcher.coordinator.progress_record import FIRST_S, ProgressRecord
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.monitoring.progress import read_progress
from audioloom_yarn_launcher.rendezvous.backend import Put
from audioloom_yarn_launcher.rendezvous.status import status_key
from launcher_processes import until
from structlog.testing import capture_logs

SIZE = 1200  # in several blocks


def tell(store: MemoryStore, rank: int, attempt: int, step: int) -> None:
    status = f'{{"rank": {rank}, "attempt": {attempt}, "step": {step}}}'
    store.transaction([], [Put(status_key(rank), status)])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "progress").iterdir())


def test_a_failing_storage_is_told_of_once_and_ends_nothing(tmp_path: Path) -> None:
    """The next record comes as if nothing had been."""
    store, way = MemoryStore(), tmp_path / "progress"
    record = ProgressRecord(store, locate(tmp_path), SIZE)
    way.write_text("in the way")
    record.begin(1)
    with capture_logs() as told:
        for step in range(3):
            tell(store, 0, 1, step)
            record.look()
    assert ["the progress of the workers cannot be recorded"] == [each["event"] for each in told]
    way.unlink()
    record.look()
    assert [{"rank": 0, "attempt": 1, "step": 2}] == read_progress(locate(tmp_path))[0]


def test_each_attempt_keeps_its_newest_record(tmp_path: Path) -> None:
    """All processes by rank; without news, there is no further one."""
    store = MemoryStore()
    record = ProgressRecord(store, locate(tmp_path), SIZE)
    record.begin(1)
    record.look()
    assert not (tmp_path / "progress").exists()
    for step in (1, 2):
        for rank in (1100, 7, 30):
            tell(store, rank, 1, step)
        record.look()
        record.look()
    assert ["1.2.jsonl"] == names(tmp_path)
    ranks = [*read_progress(locate(tmp_path))]
    assert [7, 30, 1100] == ranks
    late = record.read()
    record.begin(2)
    tell(store, 7, 2, 3)
    record.look()
    record.publish(*late)  # the last of the attempt before, which takes longer
    tell(store, 7, 2, 4)
    record.look()
    assert ["1.4.jsonl", "2.5.jsonl"] == names(tmp_path)
    assert [2, 4] == [line["step"] for line in read_progress(locate(tmp_path))[7]]


def test_the_first_records_of_an_attempt_come_soon(tmp_path: Path) -> None:
    """Then one every few seconds; more processes have more to write, and do so more seldom."""
    for size, every in ((1, 3.0), (500, 5.0), (SIZE, 10.0)):
        record = ProgressRecord(MemoryStore(), locate(tmp_path), size)
        for attempt in (1, 2):
            record.begin(attempt)
            pauses = [record.next_pause() for _ in range(8)]
            assert (FIRST_S, every) == (pauses[0], pauses[-1])
            assert pauses == sorted(pauses)


def test_the_thread_outlives_a_call_that_fails_and_ends_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator's own calls tell whether the store is lost."""
    monkeypatch.setattr(progress_record, "FIRST_S", 0.01)
    store, get = MemoryStore(), MemoryStore.get_prefix
    fails = iter([True])

    def get_prefix(prefix: str) -> dict[str, str]:
        if next(fails, False):
            raise StoreLost("too slow")
        return get(store, prefix)

    monkeypatch.setattr(store, "get_prefix", get_prefix)
    tell(store, 0, 0, 1)
    record = ProgressRecord(store, locate(tmp_path), 1)
    record.start()
    until((tmp_path / "progress").exists, "a record")
    record.close()
    until(lambda: "progress" not in {each.name for each in threading.enumerate()}, "the end")
