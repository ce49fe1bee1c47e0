"""Contract 1.0 beside 1.1 of shards: whoever was released with one reads what the other wrote.

`kept/1.0.tar.xz` holds the trainer that was released with 1.0, with the reader that it imports, and
shards that the sharder of that release wrote (`keep_release.py` makes it).
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from audioloom_quickstart.programs import read_manifest
from deployment import Command, Deployment

CONTRACTS = Path(__file__).parent.parent / "shared" / "contracts"
ARCHIVE = Path(__file__).parent / "kept" / "1.0.tar.xz"
SHA256 = "2c67ff97dc42eb94d81c5b9a4bdd0698d22eab141d60c89f8716435d129c4701"
NEWER = sorted(CONTRACTS.glob("*/v1.[1-9]*/*.json"))
SHARDING = ("--target", "number", "--lanes", "2", "--shards", "4", "--split", "train=0.7,val=0.3")
TRAINING = ("--epochs", "2", "--batch-size", "6")
MAIN = "import sys; from audioloom_trainer.cli import main; sys.exit(main())"
READ = """
import json, pathlib, sys
from audioloom_manifest import parse_manifest
files = map(pathlib.Path, sys.argv[1:])
print(json.dumps([parse_manifest(file.read_bytes(), where=file).to_json() for file in files]))
"""


@dataclass(frozen=True)
class Release:
    """A release's trainer, and shards that its sharder wrote.

    Args:
        deployment: that starts it.
        variables: what makes it the one that is started.
        shards: the manifest.
    """

    deployment: Deployment
    variables: dict[str, str]
    shards: str

    def trainer(self, *words: str) -> Command:
        """Start it, by what both releases have: the installed script knows today's alone."""
        python = str(Path(self.deployment.paths["trainer"]).with_name("python"))
        return self.deployment.start(python, "-c", MAIN, *words, variables=self.variables)

    def train(self, shards: str) -> Command:
        """Start a training on shards of either release, each below a root of its own."""
        versions = (self.manifest["producer"]["version"], read_manifest(shards)["version"])
        root = self.deployment.folder / "-".join(versions)
        return self.trainer("run", shards, "--root", str(root), *TRAINING)

    @property
    def manifest(self) -> dict[str, Any]:
        """What its shards say."""
        return read_manifest(self.shards)


@pytest.fixture(scope="session")
def kept(deployment: Deployment) -> Path:
    """What the archive holds."""
    assert SHA256 == sha256(ARCHIVE.read_bytes()).hexdigest()
    folder = deployment.folder / "kept"
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="session")
def old(deployment: Deployment, kept: Path) -> Release:
    """The release that came with 1.0."""
    (shards,) = kept.glob("loom/shards/*/manifest.json")
    return Release(deployment, {"PYTHONPATH": str(kept / "site")}, str(shards))


@pytest.fixture(scope="session")
def new(deployment: Deployment, kept: Path) -> Release:
    """The stages of today, whose shards are of the same features."""
    shutil.copytree(kept / "loom" / "features", deployment.folder / "newer" / "features")
    (features,) = (deployment.folder / "newer").glob("features/*/manifest.json")
    shards = deployment.answer("sharder", "run", str(features), *SHARDING)
    return Release(deployment, {}, shards)


def within(found: Any, whole: Any) -> Iterator[str]:
    """Where *found* says anything that *whole* does not say."""
    if not isinstance(found, dict):
        if found != whole:
            yield f": {found} and not {whole}"
        return
    for key, value in found.items():
        yield from (f".{key}{each}" for each in within(value, whole[key]))


def test_the_old_reader_reads_what_is_newer(deployment: Deployment, old: Release) -> None:
    """Every fixture of a later minor, as if what is new in it were not there."""
    python = str(Path(deployment.paths["trainer"]).with_name("python"))
    paths = [*map(str, NEWER)]
    answer = deployment.start(python, "-c", READ, *paths, variables=old.variables).answer()
    for path, found in zip(paths, json.loads(answer), strict=True):
        whole = read_manifest(path)
        assert [] == [*within(found, whole)]
        assert whole != found


def test_the_releases_are_two(old: Release, new: Release) -> None:
    """The programs themselves say so, and what they wrote."""
    assert ["1.0", "1.1"] == [each.manifest["version"] for each in (old, new)]
    versions = [each.trainer("--version").answer().split()[-1] for each in (old, new)]
    assert "0.1.0" == versions[0] != versions[1]


def test_the_shards_are_the_same_but_for_what_is_new(old: Release, new: Release) -> None:
    """Name, identity and list of files; a field of the stats ripples through nothing."""
    for key in ("name", "identity", "files", "recipe"):
        assert old.manifest[key] == new.manifest[key]
    for name, split in new.manifest["stats"]["splits"].items():
        assert split.pop("targets")["variance"] > 0
        assert split == old.manifest["stats"]["splits"][name]


def test_each_trains_on_what_the_other_wrote(old: Release, new: Release) -> None:
    """To the same loss: both have read, staged and learned the same."""
    both = [old.train(new.shards), new.train(old.shards)]
    runs = [read_manifest(each.answer()) for each in both]
    losses = [run["stats"]["scores"]["val"]["loss"] for run in runs]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert runs[0]["inputs"][0]["identity"] == runs[1]["inputs"][0]["identity"]
    assert runs[0]["inputs"][0]["sha256"] != runs[1]["inputs"][0]["sha256"]


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["old", "new"])
def test_a_run_does_not_depend_on_the_minor(old: Release, new: Release, reader: str) -> None:
    """Of either shards comes the same identity; who knows of what is new shows it where it is."""
    release = {"old": old, "new": new}[reader]
    both = [release.train(each.shards) for each in (old, new)]
    runs = [read_manifest(each.answer()) for each in both]
    assert runs[0]["identity"] == runs[1]["identity"]
    shown = ["mse_of_mean" in run["stats"]["scores"]["val"] for run in runs]
    assert [False, reader == "new"] == shown
