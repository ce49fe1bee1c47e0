from __future__ import annotations

import json
from pathlib import Path

import pytest
from audioloom.site.publish import publish, site_folder
from audioloom_stage.errors import NameTaken, Usage

PAGES = [("index.html", "new"), ("runs/a.html", "a")]


def content(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.html")
    }


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """An earlier site."""
    publish(tmp_path / "site", [("index.html", "old"), ("runs/b.html", "b")])
    return tmp_path / "site"


def foreign(site: Path, kind: str) -> None:
    """Make the folder one that is not, or not only, a site of ours."""
    match kind:
        case "a file":
            (site / "notes.txt").write_text("mine")
        case "a file below":
            (site / "runs" / "notes.html").write_text("mine")
        case "a link":
            (site / "runs" / "away").symlink_to("/")
        case "no marker":
            (site / "audioloom-site.json").unlink()
        case "a marker of another":
            (site / "audioloom-site.json").write_text('{"kind": "other", "files": []}')
        case "a damaged marker":
            (site / "audioloom-site.json").write_text("{")
        case "a marker elsewhere":
            marker = site / "audioloom-site.json"
            marker.rename(site.parent / "marker")
            marker.symlink_to(site.parent / "marker")


KINDS = [
    "a file",
    "a file below",
    "a link",
    "no marker",
    "a marker of another",
    "a damaged marker",
    "a marker elsewhere",
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_ours_is_refused(site: Path, kind: str) -> None:
    """Before anything is read, and nothing is changed."""
    foreign(site, kind)
    with pytest.raises(NameTaken, match="Nothing is overwritten"):
        site_folder(str(site))
    assert "old" == (site / "index.html").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_put_there_meanwhile_stays(site: Path, kind: str) -> None:
    """The folder is looked through again once nobody else can find it, and put back."""

    def pages() -> list[tuple[str, str]]:
        foreign(site, kind)
        return PAGES

    with pytest.raises(NameTaken, match=str(site)):
        publish(site, (page for page in pages()))
    assert "old" == content(site)["index.html"]
    assert [] == [*site.parent.glob(".site.*")]


@pytest.mark.parametrize("kind", ["file", "link to a file"])
def test_a_file_is_no_folder(tmp_path: Path, kind: str) -> None:
    """It is not removed to make place."""
    (tmp_path / "file").write_text("mine")
    if kind != "file":
        (tmp_path / "link to a file").symlink_to(tmp_path / "file")
    with pytest.raises(NameTaken):
        site_folder(str(tmp_path / kind))


def test_another_storage_is_told() -> None:
    """A site is for this machine."""
    with pytest.raises(Usage, match="a folder on this machine"):
        site_folder("hdfs://namenode/site")


def test_a_new_folder_gets_the_pages(tmp_path: Path) -> None:
    """With the folders above it; an empty folder is as good."""
    for name in ("new/site", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        target = site_folder(str(tmp_path / name))
        publish(target, PAGES)
        assert dict(PAGES) == content(target)
        files = json.loads((target / "audioloom-site.json").read_text())["files"]
        assert [name for name, _ in PAGES] == files


def test_an_earlier_site_is_replaced_whole(site: Path) -> None:
    """None of its pages is left, and no scratch folder."""
    publish(site_folder(str(site)), PAGES)
    assert dict(PAGES) == content(site)
    assert [site] == [*site.parent.iterdir()]


def test_a_link_to_a_site_stays_a_link(site: Path) -> None:
    """What it leads to is replaced."""
    link = site.with_name("current")
    link.symlink_to(site)
    publish(site_folder(str(link)), PAGES)
    assert link.is_symlink()
    assert dict(PAGES) == content(site)


def test_a_failure_leaves_the_earlier_site(site: Path) -> None:
    """Half a site is never to be seen."""

    def pages() -> object:
        yield PAGES[0]
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError):
        publish(site, pages())  # type: ignore[arg-type]
    assert "old" == content(site)["index.html"]
    assert [site] == [*site.parent.iterdir()]
