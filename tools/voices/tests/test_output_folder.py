import json
from pathlib import Path

import pytest
from audioloom_voices.errors import FolderTaken
from audioloom_voices.output_folder import OutputFolder

NOTE = ".audioloom-demo-voices/made.json"


def fill(folder: Path, **files: str) -> None:
    """One whole run that makes these files."""
    output = OutputFolder(folder, "demo")
    output.refuse_foreign()
    with output.staging() as new:
        for name, text in files.items():
            (new / name[0]).mkdir(exist_ok=True)
            (new / name[0] / name).write_text(text)
        output.commit(new, {})


def contents(folder: Path) -> dict[str, str]:
    """What lies there, the note apart."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "made.json"]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """It is not replaced."""
    (tmp_path / "out").write_text("mine")
    with pytest.raises(FolderTaken, match="found a file"):
        OutputFolder(tmp_path / "out", "demo").refuse_foreign()


def test_a_folder_without_our_note_is_refused(tmp_path: Path) -> None:
    """Whatever lies in it."""
    (tmp_path / "mine").touch()
    with pytest.raises(FolderTaken, match="choose another folder"):
        OutputFolder(tmp_path, "demo").refuse_foreign()


def test_a_folder_of_the_other_command_is_refused(tmp_path: Path) -> None:
    """It would remove recordings of another kind, or mix both."""
    fill(tmp_path / "out", ab="1")
    with pytest.raises(FolderTaken, match=r"found other files and no \.audioloom-debian-voices"):
        OutputFolder(tmp_path / "out", "debian").refuse_foreign()


def test_a_run_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    """Neither the folder nor what was made aside, so nobody takes half for the whole."""

    def break_off() -> None:
        with OutputFolder(tmp_path / "deep" / "out", "demo").staging() as new:
            (new / "half").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert list((tmp_path / "deep").iterdir()) == []


@pytest.mark.parametrize("exists", [True, False])
def test_an_absent_or_empty_folder_is_filled(tmp_path: Path, *, exists: bool) -> None:
    """With the files, the note that lists them, and nothing else."""
    out = tmp_path / "out"
    if exists:
        out.mkdir()
    fill(out, ab="1", bc="2")
    assert contents(out) == {"a/ab": "1", "b/bc": "2"}
    assert json.loads((out / NOTE).read_text())["files"] == ["a/ab", "b/bc"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_rerun_replaces_its_files_and_leaves_others(tmp_path: Path) -> None:
    """Old ones go, new ones come, what somebody put beside them stays."""
    out = tmp_path / "out"
    fill(out, ab="1", ac="2")
    (out / "a" / "mine").write_text("3")
    fill(out, ac="4", bc="5")
    assert contents(out) == {"a/ac": "4", "b/bc": "5", "a/mine": "3"}


@pytest.mark.parametrize("name", ["../mine", "link/mine"])
def test_an_edited_note_removes_nothing_outside(tmp_path: Path, name: str) -> None:
    """Neither by a path that climbs nor through a link."""
    out = tmp_path / "out"
    fill(out, ab="1")
    (tmp_path / "mine").write_text("2")
    (out / "link").symlink_to(tmp_path)
    (out / NOTE).write_text(json.dumps({"files": [name]}))
    fill(out, ac="3")
    assert (tmp_path / "mine").read_text() == "2"


def test_a_linked_folder_is_filled_where_it_lies(tmp_path: Path) -> None:
    """The link stays a link."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    fill(tmp_path / "out", ab="1")
    assert contents(tmp_path / "disk") == {"a/ab": "1"}
    assert (tmp_path / "out").is_symlink()
