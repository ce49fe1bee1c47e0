from __future__ import annotations

from pathlib import Path
from typing import Any

from audioloom_featurizer.commands.report import report
from audioloom_featurizer.settings import ReportSettings
from featurizer_work import features_of, header_only


def test_only_features_have_this_page(command: Any, source: Path, root: Path) -> None:
    """A recordings manifest is refused (65), and nothing is written."""
    recordings = command("scan", source, "--root", root, "--name", "some")
    assert 0 == recordings.returncode, recordings.stderr
    to = root.parent / "page.html"
    ended = command("report", recordings.stdout.strip(), "--to", to)
    assert (65, "") == (ended.returncode, ended.stdout)
    assert "a features manifest" in ended.stderr
    assert not to.exists()


def test_another_file_is_kept(command: Any, source: Path, root: Path) -> None:
    """Exit code 73; the page itself is found written (0)."""
    features = features_of(source, root).folder.path
    to = root.parent / "page.html"
    for _ in range(2):
        ended = command("report", features, "--to", to)
        assert (0, f"{to}\n") == (ended.returncode, ended.stdout), ended.stderr
    to.write_text("mine")
    assert 73 == command("report", features, "--to", to).returncode
    assert "mine" == to.read_text()


def test_a_run_has_its_labels_lengths_refusals_and_pictures(source: Path, root: Path) -> None:
    """From its own files, no more of them than asked for."""
    header_only(source / "no" / "s8-bad.wav")
    opened = features_of(source, root, error_budget="50%", unit_recordings=2)
    files = len(opened.files("features"))
    assert files > 1
    to = root.parent / "page.html"
    report(ReportSettings(manifest=opened.folder.path, to=str(to), files=files))
    text = to.read_text()
    for told in ("no/s8-bad.wav", "empty", "all 7 windows", "mean mfcc of yes", "shortest"):
        assert told in text
    few = root.parent / "few.html"
    report(ReportSettings(manifest=opened.folder.path, to=str(few), files=1))
    assert f"from 1 of {files} files" in few.read_text()
