import dataclasses
import re
import sys
from pathlib import Path

import pytest
from audioloom_quickstart.programs import Programs, StepFailedError
from audioloom_quickstart.realdata import (
    RECORDINGS,
    Found,
    SkippedError,
    broken_expectations,
    fetch,
)

FILES = ["ru/is.wav", *(f"en/{number}.wav" for number in range(RECORDINGS - 1))]
GOOD = Found(
    files=FILES,
    features=FILES[1:],
    ledger=[("ru/is.wav", "empty")],
    groups={"train": {"a", "b"}, "val": {"c"}, "test": {"d"}},
    accuracy=0.96,
)


def ending_in(exit_code: int, folder: Path) -> Programs:
    """Programs whose `voices` ends at once, whatever it is asked."""
    program = folder / "voices"
    program.write_text(f"#!{sys.executable}\nraise SystemExit({exit_code})\n")
    program.chmod(0o755)
    return Programs({"voices": str(program)})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"files": FILES[:-1]}, "expected 1705 recordings, found 1704"),
        ({"features": FILES[2:]}, "1705 in features and ledger together, found 1704"),
        ({"features": FILES}, r"in both or twice, found \['ru/is.wav'\]"),
        ({"features": [*FILES[2:], "en/x.wav"]}, r"found \['en/0.wav', 'en/x.wav'\]"),
        ({"ledger": [("ru/is.wav", "truncated")]}, "expected {'ru/is.wav': 'empty'} in the ledger"),
        ({"groups": GOOD.groups | {"test": {"b", "d"}}}, r"both test and train, found \['b'\]"),
        ({"groups": {"train": {"a"}}}, "as splits"),
        ({"accuracy": 0.89}, "accuracy ≥ 0.9, found 0.890"),
        ({"accuracy": float("nan")}, "accuracy ≥ 0.9"),
    ],
)
def test_what_does_not_hold_is_told(changes: dict[str, object], fault: str) -> None:
    """Each expectation fails when what it is about is broken, with what was found."""
    broken = broken_expectations(dataclasses.replace(GOOD, **changes))
    assert re.search(fault, "\n".join(broken)), broken


def test_nothing_to_tell_when_all_holds() -> None:
    """Every recording in one place, no group in two splits, a good score."""
    assert [] == broken_expectations(GOOD)


def test_silent_registry_skips_by_hand(tmp_path: Path) -> None:
    """A person without a registry is told so, and nothing failed."""
    with pytest.raises(SkippedError, match="registry does not answer"):
        fetch(ending_in(69, tmp_path), tmp_path / "voices", {})


def test_silent_registry_fails_in_ci(tmp_path: Path) -> None:
    """In CI a check that does not run is a failure."""
    with pytest.raises(StepFailedError, match="exit code 69"):
        fetch(ending_in(69, tmp_path), tmp_path / "voices", {"CI": "true"})


def test_other_failures_are_never_skipped(tmp_path: Path) -> None:
    """A package that is not what was signed fails everywhere."""
    with pytest.raises(StepFailedError, match="exit code 65"):
        fetch(ending_in(65, tmp_path), tmp_path / "voices", {})
