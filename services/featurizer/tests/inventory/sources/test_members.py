"""Containers that are whole, damaged or no containers, and those that end the process."""

from __future__ import annotations

from pathlib import Path

import featurizer_deaths as deaths
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.inventory.sources import members as listing_module
from audioloom_featurizer.inventory.sources.members import State, list_members
from audioloom_featurizer.inventory.sources.walk import normalise_suffixes, recordings_among
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.sandbox.supervisor import WorkerLimits
from audioloom_storage import Entry, Unavailable, locate, walk
from featurizer_containers import make_tar


def entry_of(path: Path) -> Entry:
    return Entry(locate(path), path.stat().st_size, 0, is_folder=False)


def listed(*paths: Path) -> list[tuple[State, int, list[str]]]:
    """State, members left out and names of members of each container."""
    return [
        (
            listing.state,
            listing.left_out,
            [name for batch in batches for name in batch.column("name").to_pylist()],
        )
        for _, listing, batches in list_members([*map(entry_of, paths)])
    ]


def test_members_up_to_the_damage_are_listed(tmp_path: Path) -> None:
    """The state tells whether there may have been more."""
    path = make_tar(tmp_path / "a.tar", {f"{number}.wav": bytes(5000) for number in range(3)})
    assert [("whole", 0, ["0.wav", "1.wav", "2.wav"])] == listed(path)
    path.write_bytes(path.read_bytes()[:5700])  # in the second header
    assert [("damaged", 0, ["0.wav"])] == listed(path)


def test_members_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """A name that leads outside."""
    path = make_tar(tmp_path / "a.tar", {"../x.wav": b"x", "y.wav": b"y"})
    assert [("whole", 1, ["y.wav"])] == listed(path)


def test_a_file_that_holds_no_recordings_is_another_file(tmp_path: Path) -> None:
    """A table of names, whose suffix may be that of a container."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"name": ["a"]}), path)
    assert [("other", 0, [])] == listed(path)


def test_more_members_than_a_batch_are_all_listed(tmp_path: Path) -> None:
    """In the order of the container."""
    names = [f"{number:05d}.wav" for number in range(listing_module.BATCH_ROWS + 5)]
    path = make_tar(tmp_path / "a.tar", dict.fromkeys(names, b""))
    assert [("whole", 0, names)] == listed(path)


@pytest.mark.parametrize(("most", "most_bytes"), [(3, 1 << 30), (100, 25_000), (100, 1)])
def test_many_containers_take_several_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, most_bytes: int
) -> None:
    """By their number or by their bytes; one that is larger has a request of its own."""
    monkeypatch.setattr(listing_module, "_MOST", most)
    monkeypatch.setattr(listing_module, "_MOST_BYTES", most_bytes)
    paths = [make_tar(tmp_path / f"{n}.tar", {f"{n}.wav": b"x"}) for n in range(8)]
    paths[4].write_bytes(b"no tar")
    found = [("whole", 0, [f"{number}.wav"]) for number in range(8)]
    found[4] = ("damaged", 0, [])
    assert found == listed(*paths)
    assert [] == listed()


@pytest.mark.parametrize("mark", ["segfault", "eat", "loop"])
def test_a_container_that_ends_the_process_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    """It is listed itself, so that the ledger names it, and the others as ever."""
    monkeypatch.setattr(listing_module, "write_members", deaths.write_members)
    limits = WorkerLimits(memory=400 << 20, seconds=10 if mark == "loop" else 300)
    monkeypatch.setattr(listing_module, "_LIMITS", limits)
    for name in ("good.tar", f"{mark}-a.tar", "later.tar"):
        make_tar(tmp_path / name, {"x.wav": b"x"})
    source, tally = locate(tmp_path), Tally()
    found = recordings_among(walk(source), source, normalise_suffixes(()), tally, containers=True)
    paths = sorted(path for batch in found for path in batch.column("path").to_pylist())
    assert sorted(["good.tar/x.wav", "later.tar/x.wav", f"{mark}-a.tar"]) == paths
    assert 1 == tally.counts["damaged"]


def test_an_outage_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the storage comes back from the process as it was."""
    monkeypatch.setattr(listing_module, "write_members", deaths.write_members)
    path = make_tar(tmp_path / "outage-a.tar", {"x.wav": b"x"})
    with pytest.raises(Unavailable, match="connection lost"):
        listed(path)


def test_storage_that_does_not_answer_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that waits for it is ended, and the scan as at any outage."""
    monkeypatch.setattr(listing_module, "write_members", deaths.write_members)
    monkeypatch.setattr(listing_module, "_LIMITS", WorkerLimits(seconds=10))
    path = make_tar(tmp_path / "tired-a.tar", {"x.wav": b"x"})
    with pytest.raises(Unavailable, match="expected an answer from storage"):
        listed(path)
