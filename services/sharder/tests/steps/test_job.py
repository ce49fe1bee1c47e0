"""What lies between the steps goes once the run is committed, and nothing else goes with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sharder_features import make_features, windows

DIGEST = "0123456789ab"
OURS = (
    f"work/segments/segments-00001-{DIGEST}-89abcdef.bin",
    f"work/segments/.segments-00001-{DIGEST}-89abcdef.bin.0123456789abcdef.part",
    f"work/segments/receipts/segments-00001-{DIGEST}.json",
    f"work/receipts/segments-00001-{DIGEST}.json",  # of an earlier release
)
FOREIGN = (
    "work/thesis.bin",
    "work/.thesis.tex.0123456789abcdef.part",
    f"work/mine/segments-00001-{DIGEST}-89abcdef.bin",
    "work/receipts/notes.json",
)


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """A few features."""
    return Path(make_features(tmp_path / "root", [windows(60, groups=30)]).folder.path)


@pytest.fixture
def run(sharder: Callable, features: Path) -> Callable[[], Path]:
    """Make a run whose steps leave a receipt of every kind; its folder."""
    words = ("--lanes", "2", "--name", "run", "--resample", "over")

    def make() -> Path:
        ran = sharder("run", features, *words)
        assert 0 == ran.code, ran.err
        return Path(ran.out.strip()).parent

    return make


def put(folder: Path, *names: str) -> None:
    """Files of such names."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_nothing_of_ours_is_left_between_the_steps(features: Path, run: Callable) -> None:
    """Neither what this try wrote nor what a dead one has left, and no folder."""
    put(features.parent.parent / "shards/run", *OURS)
    assert not (run() / "work").exists()


def test_files_of_others_stay_between_the_steps(features: Path, run: Callable) -> None:
    """Whoever put them there; what is ours goes from beside them."""
    put(features.parent.parent / "shards/run", *OURS, *FOREIGN)
    assert {name.removeprefix("work/") for name in FOREIGN} == files(run() / "work")


@pytest.mark.parametrize("link", ["shards", "shards/run", "shards/run/work"])
def test_what_lies_behind_a_link_is_not_tidied(
    features: Path, run: Callable, tmp_path: Path, link: str
) -> None:
    """Of the run or above or below it: what it leads to may be another's, whatever its name."""
    root, elsewhere = features.parent.parent, tmp_path / "elsewhere"
    put(tmp_path / "elsewhere/run", *OURS, *FOREIGN)
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(elsewhere / link.removeprefix("shards").removeprefix("/"))
    run()
    assert {*OURS, *FOREIGN} <= files(elsewhere / "run")
    assert (root / link).is_symlink()
