from __future__ import annotations

import os
from pathlib import Path

from audioloom_featurizer.inventory.paths import as_text, may_be_escaped
from audioloom_featurizer.inventory.sources.walk import (
    AUDIO_SUFFIXES,
    normalise_suffixes,
    recordings_among,
)
from audioloom_featurizer.inventory.tally import Tally
from audioloom_storage import locate, walk
from hypothesis import given
from hypothesis import strategies as st


def listed(folder: Path, *suffixes: str) -> tuple[list[str], Tally]:
    tally, source = Tally(), locate(folder)
    found = recordings_among(walk(source), source, normalise_suffixes(suffixes), tally)
    return [path for batch in found for path in batch.column("path").to_pylist()], tally


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def write_bytes(folder: Path, *names: bytes) -> None:
    """Files whose names need not be text."""
    for name in names:
        path = os.fsencode(folder) + b"/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(b"x")


def test_hidden_files_are_passed_over_and_counted(tmp_path: Path) -> None:
    """AppleDouble files and hidden folders are no recordings, whatever their ending."""
    touch(tmp_path, "a/x.wav", "a/._x.wav", ".trash/y.wav", "notes.txt")
    paths, tally = listed(tmp_path)
    assert ["a/x.wav"] == paths
    assert {"listed": 1, "hidden": 2, "other": 1, "containers": 0} == tally.counts
    assert ["notes.txt"] == tally.examples["other"]


def test_a_name_that_is_no_text_is_listed(tmp_path: Path) -> None:
    """With its bytes written out, so that it is refused later, and counted; folders likewise."""
    snowman = "\N{SNOWMAN}.wav"
    write_bytes(tmp_path, b"caf\xe9.wav", b"\xff\xfe/ok.wav", snowman.encode(), b"\xe9.txt")
    paths, tally = listed(tmp_path)
    assert [r"\xff\xfe/ok.wav", r"caf\xe9.wav", snowman] == sorted(paths)
    assert {"listed": 3, "hidden": 0, "other": 1, "containers": 0} == tally.counts


@given(st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name))
def test_every_name_becomes_text_that_tells_of_it(name: bytes) -> None:
    """Text is kept as it is; what is none is marked, and begins as its folder does."""
    path = os.fsdecode(b"folder\xff/" + name)
    found = as_text(path)
    assert found == found.encode().decode()
    assert may_be_escaped(found)
    assert found.startswith(as_text(os.fsdecode(b"folder\xff")))
    try:
        text = name.decode()
    except UnicodeDecodeError:
        assert may_be_escaped(as_text(os.fsdecode(name)))
    else:
        assert text == as_text(os.fsdecode(name))


def test_endings_are_taken_in_any_case(tmp_path: Path) -> None:
    """X.WAV, an empty file and a dangling link are recordings; a folder called x.wav is none."""
    touch(tmp_path, "X.WAV", "folder.wav/y.Flac")
    (tmp_path / "empty.wav").touch()
    (tmp_path / "gone.wav").symlink_to("nowhere")
    paths, _ = listed(tmp_path)
    assert ["X.WAV", "empty.wav", "folder.wav/y.Flac", "gone.wav"] == sorted(paths)


def test_endings_given_by_hand() -> None:
    """An ending may be given with its dot or without, in capitals, twice."""
    assert (".raw", ".wav") == normalise_suffixes(["WAV", ".wav", " .RAW"])
    assert normalise_suffixes([]) == AUDIO_SUFFIXES == normalise_suffixes([" "])
