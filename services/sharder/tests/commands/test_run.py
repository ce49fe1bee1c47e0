"""Where a run lies: its name, its root, and copies of the tree."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from sharder_features import make_features, windows
from sharder_runs import committed, contents

ROWS = windows(120, each=2)


def test_a_taken_name_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """Another recipe under the same name: 73, naming the field, and the old run stays."""
    features = make_features(tmp_path, [ROWS])
    assert 0 == sharder("run", features.folder, "--name", "mine").code
    before = contents(tmp_path / "shards" / "mine")
    ran = sharder("run", features.folder, "--name", "mine", "--seed", "1")
    assert 73 == ran.code
    assert "seed = 0 there, 1 asked for" in ran.err
    assert before == contents(tmp_path / "shards" / "mine")


def test_the_root_may_be_elsewhere(sharder: Callable, tmp_path: Path) -> None:
    """The input is then named by its URI."""
    features = make_features(tmp_path / "in", [ROWS])
    opened = committed(sharder("run", features.folder, "--root", tmp_path / "out").out)
    assert str(tmp_path / "out" / "shards") == str(opened.folder.parent)
    assert features.folder.uri == opened.manifest.inputs[0].location
    assert 0 == sharder("verify", opened.folder).code


def test_a_whole_tree_can_be_copied(sharder: Callable, tmp_path: Path) -> None:
    """Locations under one root are relative: a copy verifies, and is the same run."""
    features = make_features(tmp_path / "here", [ROWS])
    opened = committed(sharder("run", features.folder).out)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    shutil.rmtree(tmp_path / "here")
    moved = tmp_path / "there" / "shards" / opened.manifest.name
    assert 0 == sharder("verify", moved).code
    again = sharder("run", tmp_path / "there" / "features" / features.manifest.name, "--json")
    assert again.data["already_committed"]
