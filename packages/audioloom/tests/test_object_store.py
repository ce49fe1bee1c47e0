"""A root in an object store, as `hdfs://` is one elsewhere: nothing here is about local files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import audioloom
import pytest
from audioloom_storage import locate
from audioloom_storage_testing.s3_server import running_s3
from small_root import HISTORY, make_root


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a root in a store of our own."""
    with running_s3() as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        make_root(locate(store.root))
        yield store.root


def test_runs_of_a_store_are_opened_and_shown(bucket: str, program: Any, tmp_path: Path) -> None:
    """Tables, history and pages; no link of a page leads to the store, which no browser opens."""
    run: Any = audioloom.open(f"{bucket}/runs/first")
    assert [*HISTORY] == run.history()
    assert f"{bucket}/runs/first" == run.uri
    recordings: Any = audioloom.open(f"{bucket}/recordings/voices")
    assert 2 == recordings.frame().num_rows
    ran = program("site", bucket, "--to", tmp_path / "site")
    assert 0 == ran.code, ran.err
    page = (tmp_path / "site" / "runs" / "first.html").read_text()
    assert f"<dd>{bucket}/runs/first</dd>" in page
    assert 'href="s3' not in page
