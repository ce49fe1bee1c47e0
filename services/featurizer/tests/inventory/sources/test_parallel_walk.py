"""A source that is listed in parts is what a walk finds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from audioloom_featurizer.errors import BadLabels
from audioloom_featurizer.inventory import pipeline, spark
from audioloom_featurizer.inventory.sources.parallel_walk import Fragment, ListingTask
from audioloom_storage import list_folder, locate
from featurizer_work import PATTERN, scan

Task = Callable[[ListingTask], Fragment]


@contextmanager
def backwards(*_: Any) -> Iterator[Callable[..., Iterator[Fragment]]]:
    """The last part first, as tasks may well finish."""

    def run(parts: Sequence[ListingTask], task: Task) -> Iterator[Fragment]:
        for part in reversed(parts):
            yield task(part)

    yield run


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Names around the slash, at several depths; hidden files, links up and across, bad names."""
    folder = tmp_path / "tree"
    for name in ("a", "a-b", "a.d", "a0", "é", "b/c/d", ".hidden/x", "empty"):
        (folder / name).mkdir(parents=True)
    for name in (
        *("a.wav", "a/z.wav", "a-b/1.wav", "a.d/1.wav", "a0/s-1.wav", "a0.wav", "é/ü.wav"),
        *("b/c/d/1.wav", "b/c.wav", "b/c/2.wav", ".hidden/x/y.wav", "a/._z.wav", "b/notes.txt"),
    ):
        (folder / name).write_bytes(name.encode())
    (folder / "b/c/up").symlink_to("..")
    (folder / "b/across").symlink_to("../a")
    (folder / "a/back").symlink_to("../b")
    os.mkdir(bytes(folder) + b"/\xff")  # noqa: PTH102
    for name in (b"/a/\xff.wav", b"/\xff/1.wav", b"/\xff.wav", b"/Z\xff.wav", b"/z.wav"):
        with open(bytes(folder) + name, "wb"):  # noqa: PTH123
            pass
    return folder


@pytest.mark.parametrize("folders", [1, 2, 5, 8, 64])
def test_parts_are_the_whole(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: int
) -> None:
    """However the tree is cut: the same run, and the same files passed over."""
    monkeypatch.setattr(spark, "spark_runner", backwards)
    monkeypatch.setattr(pipeline, "ENOUGH_FOLDERS", folders)
    pattern = "(?:.*/)?(?P<label>[^/]+)[.]wav"
    walked = scan(tree, tmp_path / "walked", pattern=pattern).data
    listed = scan(tree, tmp_path / "listed", pattern=pattern, master="local[2]").data
    same = ("name", "identity", "recordings", "labelled", "skipped")
    assert {key: walked[key] for key in same} == {key: listed[key] for key in same}


def test_an_error_of_a_task_is_told_as_itself(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a walk: a target that is no number names its path."""
    monkeypatch.setattr(spark, "spark_runner", backwards)
    with pytest.raises(BadLabels, match=r"z\.wav"):
        scan(tree, tmp_path / "root", pattern=r"a/(?P<target>.)\.wav", master="local[2]")


def test_fragments_are_gone_in_the_end(
    source: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster they lie below the root while the scan runs."""
    (tmp_path / "conf").mkdir()
    for name in ("core-site.xml", "yarn-site.xml"):
        (tmp_path / "conf" / name).write_text("<configuration/>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "conf"))
    seen = []

    @contextmanager
    def runner(*_: Any) -> Iterator[Callable[..., Iterator[Fragment]]]:
        yield lambda parts, task: iter([task(part) for part in parts])
        seen.extend(list_folder(next(list_folder(locate(root) / "scratch")).location))

    monkeypatch.setattr(spark, "spark_runner", runner)
    scan(source, root, master="yarn")
    assert 2 == len(seen)
    assert [] == list((root / "scratch").iterdir())


@pytest.mark.slow
def test_in_spark(source: Path, root: Path, tmp_path: Path) -> None:
    """Real tasks, in other processes; then the labels of a table, joined by path."""
    (tmp_path / "labels.csv").write_text("path,target\nno/s1-take.wav,0.5\n")
    more = {"labels": str(tmp_path / "labels.csv"), "pattern": PATTERN}
    walked = scan(source, root, **more).data
    listed = scan(source, tmp_path / "other", master="local[2]", **more).data
    assert (walked["name"], walked["identity"]) == (listed["name"], listed["identity"])
