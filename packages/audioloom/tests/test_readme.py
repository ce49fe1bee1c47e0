from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_storage import Location
from small_network import arrays, network
from small_root import SCORES, make_features, make_recordings, make_shards, make_training

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def loom(root: Location) -> Path:
    """A root as the page has it: with a training whose model can be built."""
    shards = make_shards(root, make_features(root, make_recordings(root)))
    model = network()
    files = {"model": model.to_json().encode(), "weights": arrays(model)}
    make_training(root, shards, "first", **files)
    return Path(root.path).parent


def test_the_example_runs(loom: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands there, with its folder moved to one of our own."""
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block.replace("/tmp/", f"{loom}/"), names)  # noqa: S102, S108
    out = capsys.readouterr().out
    assert "('calm', 'glad') 5\n(4, 2, 3) " in out
    assert "0.75 [2.0, 1.0]" in out
    assert "['no samples']" in out
    assert np.isfinite(names["features"].numpy()).all()


def test_the_site_is_made_as_shown(program: Any, loom: Path) -> None:
    """The first page of the site."""
    block = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)[0]
    command, answer = block.replace("/tmp/", f"{loom}/").splitlines()  # noqa: S108
    ran = program(*command.split()[2:])
    assert (0, f"{answer}\n") == (ran.code, ran.out)


def test_runs_are_compared_as_shown(program: Any, loom: Path, root: Location) -> None:
    """Every line that stands there, with identities of our own."""
    source = read_manifest(root / "shards" / "demo")
    better = {"val": {**SCORES["val"], "loss": 0.25}}
    make_training(root, source, "second", epochs=3, scores=better)
    block = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)[1]
    command, *answer = block.replace("/tmp/", f"{loom}/").splitlines()  # noqa: S108
    ran = program(*command.split()[2:])

    def known(lines: list[str]) -> list[list[str]]:
        texts = (re.sub(r"sha256:[0-9a-f]{8}…", "sha256", line) for line in lines)
        return [text.split() for text in texts if text]

    told = [row for row in known(ran.out.splitlines()) if row[0] not in ("time", "seconds")]
    assert known(answer) == told
