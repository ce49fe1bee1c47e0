from __future__ import annotations

from pathlib import Path

from audioloom_featurizer.listing import AUDIO, Skipped, clean_suffixes, list_recordings
from audioloom_storage import locate


def listed(folder: Path, *suffixes: str) -> tuple[list[str], Skipped]:
    skipped = Skipped()
    found = list_recordings(locate(folder), clean_suffixes(suffixes), skipped)
    return [path for batch in found for path in batch.column("path").to_pylist()], skipped


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def test_hidden_files_are_passed_over_and_counted(tmp_path: Path) -> None:
    """AppleDouble files and hidden folders are no recordings, whatever their ending."""
    touch(tmp_path, "a/x.wav", "a/._x.wav", ".trash/y.wav", "notes.txt")
    paths, skipped = listed(tmp_path)
    assert ["a/x.wav"] == paths
    assert (2, 1, 0) == (skipped.hidden, skipped.other, skipped.unnameable)
    assert "notes.txt" == skipped.examples["other"]


def test_a_name_that_is_no_text_is_counted(tmp_path: Path) -> None:
    """A name that no manifest can hold is passed over with its escaped form as the example."""
    (Path(str(tmp_path)) / "ok.wav").write_bytes(b"x")
    with open(bytes(tmp_path) + b"/\xff.wav", "wb") as file:  # noqa: PTH123
        file.write(b"x")
    paths, skipped = listed(tmp_path)
    assert ["ok.wav"] == paths
    assert 1 == skipped.unnameable
    assert r"\udcff.wav" == skipped.examples["unnameable"]


def test_endings_are_taken_in_any_case(tmp_path: Path) -> None:
    """X.WAV, an empty file and a dangling link are recordings; a folder called x.wav is none."""
    touch(tmp_path, "X.WAV", "folder.wav/y.Flac")
    (tmp_path / "empty.wav").touch()
    (tmp_path / "gone.wav").symlink_to("nowhere")
    paths, _ = listed(tmp_path)
    assert ["X.WAV", "empty.wav", "folder.wav/y.Flac", "gone.wav"] == sorted(paths)


def test_endings_given_by_hand() -> None:
    """An ending may be given with its dot or without, in capitals, twice."""
    assert (".raw", ".wav") == clean_suffixes(["WAV", ".wav", " .RAW"])
    assert clean_suffixes([]) == AUDIO == clean_suffixes([" "])
