from pathlib import Path

import pytest
from audioloom_runs.checks import check_room, examine
from audioloom_stage.checks import failure, ok


def test_the_root_and_the_scratch_folder_are_checked_everywhere(tmp_path: Path) -> None:
    """Beside the checks of the stage, whose failure is the exit code."""
    found = examine(str(tmp_path), {"own": lambda: ok("own", "well")})
    assert ["root", "scratch", "own"] == [each["check"] for each in found.data["findings"]]
    assert 0 == found.exit_code
    missing = examine(str(tmp_path / "new"), {"own": lambda: failure("own", "bad", "")})
    assert 78 == missing.exit_code
    assert f"{tmp_path / 'new'} will be made" == missing.data["findings"][0]["text"]


def test_a_root_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "root").write_text("")
    found = examine(str(tmp_path / "root"), {})
    assert ("root", "failure") == tuple(found.data["findings"][0][k] for k in ("check", "state"))


@pytest.mark.parametrize(("least", "state"), [(0, "ok"), (1 << 60, "warning")])
def test_little_room_is_a_warning(tmp_path: Path, least: int, state: str) -> None:
    """With what was expected."""
    assert state == check_room("scratch", str(tmp_path), least).state
