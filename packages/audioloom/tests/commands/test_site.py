from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.reader import Opened
from audioloom_storage import Location


def test_a_root_without_runs_is_told(program: Any, tmp_path: Path) -> None:
    """Nothing is written: it is a slip, such as the folder of the trainings alone."""
    for root in (tmp_path, tmp_path / "nothing"):
        ran = program("site", root, "--to", tmp_path / "site")
        assert (66, "") == (ran.code, ran.out)
    assert (
        "ROOT is what the stages were given as --root"
        in program("site", tmp_path, "--to", tmp_path / "site").err
    )
    assert not (tmp_path / "site").exists()


def test_another_folder_is_not_overwritten(
    program: Any, root: Location, runs: dict[str, Opened[Any]], tmp_path: Path
) -> None:
    """Exit code 73, as wherever an output exists; above all not the root itself."""
    before = sorted(tmp_path.rglob("*"))
    for target in (root.path, f"{root.path}/runs"):
        ran = program("site", root.path, "--to", target)
        assert 73 == ran.code
        assert "Nothing is overwritten" in ran.err
    assert before == sorted(tmp_path.rglob("*"))


def test_the_result_is_the_first_page(
    program: Any, root: Location, runs: dict[str, Opened[Any]], tmp_path: Path
) -> None:
    """Alone on stdout; with --json also how many runs of which state there are."""
    Path(root.path, "runs", "torn").mkdir()
    Path(root.path, "runs", "torn", "manifest.json").write_text("{")
    ran = program("site", root.path, "--to", tmp_path / "site")
    assert (0, f"{tmp_path}/site/index.html\n") == (ran.code, ran.out)
    data = json.loads(program("site", root.path, "--to", tmp_path / "site", "--json").out)
    assert ("audioloom.client.site", True) == (data["kind"], data["ok"])
    assert (6, {"committed": 5, "unreadable": 1}) == (data["runs"], data["states"])
    assert [f"{root.path}/runs/torn"] == data["unreadable"]
    pages = [Path(data["index"]), *(tmp_path / "site" / "runs").iterdir()]
    assert {"index.html", "first.html", "second.html", "torn.html"} == {p.name for p in pages}


def test_each_manifest_is_read_once(
    program: Any,
    root: Location,
    runs: dict[str, Opened[Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many pages name the run: a root of thousands must stay quick."""
    opened: list[str] = []
    real = os.open

    def noted(path: Any, *more: Any, **names: Any) -> int:
        opened.append(str(path))
        return real(path, *more, **names)

    monkeypatch.setattr(os, "open", noted)
    assert 0 == program("site", root.path, "--to", tmp_path / "site").code
    manifests = [each for each in opened if each.endswith("manifest.json")]
    assert sorted(str(each.location) for each in runs.values()) == sorted(manifests)


def test_an_empty_root_has_a_site(program: Any, root: Location, tmp_path: Path) -> None:
    """It says that there are no runs yet."""
    Path(root.path, "runs").mkdir()
    assert 0 == program("site", root.path, "--to", tmp_path / "site").code
    for page in ("index.html", "lineage.html"):
        assert "There are no runs yet." in (tmp_path / "site" / page).read_text()
