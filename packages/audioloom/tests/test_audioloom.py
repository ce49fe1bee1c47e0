from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import audioloom
import pytest
from audioloom.client.runs import Features, Recordings, Shards, Training
from audioloom_manifest.errors import MissingManifest
from audioloom_manifest.reader import Opened


def test_nothing_is_no_run(tmp_path: Path) -> None:
    """The error names the place."""
    with pytest.raises(MissingManifest, match=str(tmp_path)):
        audioloom.open(str(tmp_path))


def test_each_kind_has_its_class(runs: dict[str, Opened[Any]]) -> None:
    """By the folder, by the manifest and by the URI."""
    kinds = {"recordings": Recordings, "features": Features, "shards": Shards, "first": Training}
    for name, kind in kinds.items():
        for place in (str(runs[name].folder), str(runs[name].location), runs[name].folder.uri):
            run = audioloom.open(place)
            assert type(run) is kind
            assert runs[name].manifest == run.manifest


def test_the_import_costs_nothing() -> None:
    """Neither what the extras bring nor pydantic."""
    heavy = "{'keras', 'numpy', 'pyarrow', 'pydantic', 'tensorflow'}"
    code = f"import sys, audioloom; print({heavy} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "set()\n" == ran.stdout
