from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import featurizer_deadly as deadly
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.run import run as run_command
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.errors import MissingLibrary, WorkerLost
from audioloom_featurizer.extraction import scheduler
from audioloom_featurizer.sandbox.supervisor import WorkerLimits
from audioloom_featurizer.settings import RunSettings, VerifySettings
from audioloom_manifest.reader import Opened, read_manifest
from featurizer_specimens import specimens
from featurizer_work import (
    LIMITS,
    checksums,
    done,
    features_of,
    run,
    scan,
    supervised,
    write_wav,
)


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every child notes here, by its number, which recordings it was given."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("DEADLY_NOTES", str(folder))
    monkeypatch.setattr(scheduler, "extract_unit", deadly.extract_unit)
    # One that an earlier test left knows another folder.
    from audioloom_featurizer.sandbox import supervisor

    supervisor.kill_idle_workers()
    return folder


def features(source: Path, root: Path, runner: Any = supervised, **more: object) -> Opened:
    recordings = str(scan(source, root).text)
    made = run(recordings, runner, error_budget="9", unit_recordings=20, **more)
    return read_manifest(str(made.text), "features")


def ledger_of(opened: Opened) -> dict[str, dict[str, Any]]:
    files = [Path(opened.folder.path, entry.path) for entry in opened.files("ledger")]
    return {row["path"]: row for file in files for row in pq.read_table(file).to_pylist()}


ENDS = {
    "no/a0-segfault.wav": ("decoder_died", "SIGSEGV", 100, False),
    "no/s1-loop.wav": ("decoder_stalled", "within 10 s", 100, True),
    "yes/s2-eat.wav": ("decoder_memory", "at most 400 MiB", 100, True),
    "yes/z9-tired.wav": ("unavailable", "storage", 0, True),
}


def test_a_decoder_that_ends_badly_costs_one_recording(source: Path, root: Path) -> None:
    """It stands in the ledger with reason and place; the others give the bytes that they gave."""
    expected = features(source, root / "alone")
    for name in ENDS:
        write_wav(source / name)
    opened = features(source, root / "together")
    found = ledger_of(opened)
    assert ENDS.keys() == found.keys()
    for path, (kind, said, offset, retryable) in ENDS.items():
        row = found[path]
        assert (kind, "header", offset, retryable) == (
            row["class"], row["stage"], row["offset"], row["retryable"]
        )  # fmt: skip
        assert said in row["message"]
    windows = [
        pq.read_table(Path(each.folder.path, entry.path))
        for each in (expected, opened)
        for entry in each.files("features")
    ]
    assert windows[0].equals(windows[1])
    verify(VerifySettings(manifest=str(opened.location)))


def test_the_same_features_with_and_without_a_supervisor(source: Path, root: Path) -> None:
    """To the byte."""
    alone = features(source, root / "a")
    direct = features_of(source, root / "b", unit_recordings=20, error_budget="9")
    assert checksums(direct) == checksums(alone)


@pytest.mark.slow
def test_who_dies_of_what_another_did_is_not_blamed(source: Path, root: Path, notes: Path) -> None:
    """Memory spoiled by one recording kills the process at a later one: tried alone, it lives.

    Died among the others again, it is given up: the one that spoils is not known.
    """
    write_wav(source / "no" / "s2-spoil.wav")
    write_wav(source / "no" / "s3-victim.wav")
    opened = features(source, root)
    assert {"no/s3-victim.wav"} == set(ledger_of(opened))
    first, second, third = (path.read_text().split() for path in by_age(notes))
    assert "no/s3-victim.wav" == second[0] == first[-1]
    assert "no/s3-victim.wav" == second[-1]
    assert "no/s3-victim.wav" not in third


def by_age(folder: Path) -> list[Path]:
    return sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)


@pytest.mark.slow
def test_a_process_that_someone_killed_is_no_recordings_fault(
    source: Path, root: Path, notes: Path
) -> None:
    """As the kernel does when memory is short: once is not enough."""
    write_wav(source / "no" / "s3-loop.wav")

    def killing(units: Sequence[Any], task: Any) -> Iterator[Any]:
        code = f"""
import os, pathlib, time
while True:
    for path in pathlib.Path({str(notes)!r}).iterdir():
        if "s3-loop" in path.read_text():
            time.sleep(0.2); os.kill(int(path.name), 9); raise SystemExit
    time.sleep(0.02)
"""
        with subprocess.Popen([sys.executable, "-c", code]):
            yield from supervised(units, task)

    opened = features(source, root, killing)
    assert 2 == len(list(notes.iterdir())) - 1
    assert {"no/s3-loop.wav": "decoder_stalled"} == {
        path: row["class"] for path, row in ledger_of(opened).items()
    }


def test_one_process_does_all_units(source: Path, root: Path, notes: Path) -> None:
    """It is started once: what it imports is paid for once."""
    recordings = str(scan(source, root).text)
    run(recordings, supervised, unit_recordings=2)
    here = str(os.getpid())  # where the sample is computed again, as no limits are given
    assert 1 == len({each.name for each in notes.iterdir()} - {here})


def test_it_imports_nothing_heavy(
    source: Path, root: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy, SciPy's FFT, soxr, soundfile, pyarrow, and what reads and writes; whatever the format.

    A worker that imported librosa would take 1.3 s and 180 MB more.
    """
    monkeypatch.setattr(scheduler, "extract_unit", deadly.noting_imports)
    for name, data in specimens().items():
        (source / "no" / f"x-{name}").write_bytes(data)
    patient = WorkerLimits(LIMITS.memory, 60)
    runner = lambda units, task: supervised(units, task, patient)  # noqa: E731
    features(source, root, runner, level="recording", engine="numpy")
    imported = (notes / "imports").read_text().split()
    assert {"soundfile", "soxr", "scipy.fft", "pyarrow.parquet"} <= set(imported)
    heavy = {
        "librosa",
        "numba",
        "sklearn",
        "pandas",
        "tensorflow",
        "matplotlib",
        "pyspark",
        "typer",
    }
    assert set() == heavy & set(imported)
    own = "import sys, scipy.fft; print(*sys.modules)"  # older ones import more than newer ones
    found = subprocess.run([sys.executable, "-c", own], check=True, capture_output=True, text=True)
    ours = {*imported} - {*found.stdout.split()}
    scipy = {name.split(".")[1] for name in ours if name.startswith("scipy.")}
    assert set() == scipy & {"signal", "sparse", "linalg", "stats", "io", "ndimage", "optimize"}


def test_it_imports_nothing_of_the_working_folder(
    source: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is `.` where Spark runs on a cluster, before all others; or has its full name there."""
    (tmp_path / "queue.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend("")
    monkeypatch.syspath_prepend(".")
    assert features(source, root).manifest.stats.extracted > 0


@pytest.mark.parametrize(("mark", "error"), [("missing", MissingLibrary), ("full", OSError)])
def test_errors_of_the_machine_arrive_as_they_are(
    source: Path, root: Path, mark: str, error: type[Exception]
) -> None:
    """With their type and words, and with where they come from; they are no recording's."""
    write_wav(source / "no" / f"s3-{mark}.wav")
    with pytest.raises(error, match=r"no such library|No space left") as caught:
        features(source, root)
    assert "deadly.py" in "".join(caught.value.__notes__)
    assert not list(root.glob("features/*/manifest.json"))


@pytest.mark.slow
def test_a_process_that_dies_at_no_recording_is_an_error() -> None:
    """After two tries, and the next unit has a new one."""
    with pytest.raises(WorkerLost, match="exit code 5"):
        done(deadly.ends_at_once, 1)
    assert 1 == done(deadly.quick, 1)


def test_an_error_that_cannot_travel_is_told_in_words() -> None:
    """A lock or a function inside it must not hide what went wrong."""
    with pytest.raises(RuntimeError, match="ValueError: <function"):
        done(deadly.cannot_travel, 1)


HANGS = """
import os, pickle, sys
sys.path[:0] = [{tests!r}]
from audioloom_featurizer.sandbox.supervisor import WorkerLimits, run_supervised
from featurizer_deadly import hangs
run_supervised(pickle.dumps(hangs), WorkerLimits(), pickle.dumps({note!r}))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_process_ends_with_its_supervisor(tmp_path: Path, number: signal.Signals) -> None:
    """Killed or interrupted, in the middle of an endless loop."""
    note = tmp_path / "pid"
    code = HANGS.format(tests=str(Path(deadly.__file__).parent), note=str(note))
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as parent:
        until(lambda: parent.poll() is not None or (note.exists() and note.read_text() != ""))
        assert None is parent.poll()
        child = int(note.read_text())
        parent.send_signal(number)
        said = parent.communicate(timeout=300)[1].decode()
    until(lambda: ended(child))
    assert (number == signal.SIGINT) == ("KeyboardInterrupt" in said)


def ended(process: int) -> bool:
    """Whether nothing of it runs; who should reap it may take a while."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}


def until(holds: Any) -> None:
    end = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_through_spark(source: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers, each with its process; a bad one in the unit of each."""
    monkeypatch.setenv("PYTHONPATH", str(Path(deadly.__file__).parent))
    for name in ("no/s3-loop", "yes/s4-exit"):
        write_wav(source / f"{name}.wav")
    recordings = str(scan(source, root).text)
    settings = RunSettings(
        recordings=recordings, master="local[2]", unit_recordings=5, window_seconds=1.0,
        error_budget="4", decoder_timeout=10,
    )  # fmt: skip
    opened = read_manifest(str(run_command(settings).text), "features")
    assert {
        "no/s3-loop.wav": "decoder_stalled", "yes/s4-exit.wav": "decoder_died",
    } == {path: row["class"] for path, row in ledger_of(opened).items()}  # fmt: skip
    assert 7 == opened.manifest.stats.extracted
    assert 10 == opened.manifest.execution.settings["decoder_timeout"]
    verify(VerifySettings(manifest=str(opened.location)))
