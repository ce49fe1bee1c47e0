from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sharder_features import make_features, windows


def test_only_shards_have_this_page(sharder: Callable, tmp_path: Path) -> None:
    """A features manifest is refused (65), and nothing is written."""
    features = make_features(tmp_path, [windows(60, groups=30)])
    ran = sharder("report", features.folder, "--to", tmp_path / "page.html")
    assert (65, "") == (ran.code, ran.out)
    assert not (tmp_path / "page.html").exists()


def test_a_run_has_the_page_of_its_balance(sharder: Callable, tmp_path: Path) -> None:
    """With the shares that came out beside the requested ones; another file is kept (73)."""
    features = make_features(tmp_path, [windows(60, groups=30)])
    shards = sharder("run", features.folder).out.strip()
    to = tmp_path / "page.html"
    ran = sharder("report", shards, "--to", to)
    assert (0, f"{to}\n") == (ran.code, ran.out)
    text = to.read_text()
    for told in ("Labels in each split", "requested", "80.0%", "Values in each split"):
        assert told in text
    to.write_text("mine")
    assert 73 == sharder("report", shards, "--to", to).code
    assert "mine" == to.read_text()
