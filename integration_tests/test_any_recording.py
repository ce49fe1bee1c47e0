"""Recordings in every format there is, good and bad, in HDFS: each ends where it belongs."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from audioloom_quickstart.contents import rows
from audioloom_quickstart.programs import read_manifest
from deployment import Deployment

pytestmark = pytest.mark.slow

FORMATS = {
    "alaw.wav": "wav/alaw",
    "apple.aiff": "aiff/pcm_16",
    "as-it-is.wav": "wav/pcm_16",
    "core.caf": "caf/pcm_16",
    "cut.wav": "wav/pcm_16",
    "double.wav": "wav/double",
    "float.wav": "wav/float",
    "free.flac": "flac/pcm_16",
    "gsm.wav": "wav/gsm610",
    "ima.wav": "wav/ima_adpcm",
    "large.rf64.wav": "rf64/pcm_16",
    "large.w64": "w64/pcm_16",
    "layer3-called.wav": "mp3/mpeg_layer_iii",
    "layer3.mp3": "mp3/mpeg_layer_iii",
    "microsoft.wav": "wav/ms_adpcm",
    "mulaw.wav": "wav/ulaw",
    "never-patched.wav": "wav/pcm_16",
    "no-header.ul": "raw/ulaw",
    "opus.ogg": "ogg/opus",
    "pcm-24.wav": "wav/pcm_24",
    "pcm-32.wav": "wav/pcm_32",
    "pcm-u8.wav": "wav/pcm_u8",
    "stereo.flac": "flac/pcm_16",
    "sun.au": "au/ulaw",
    "vorbis.ogg": "ogg/vorbis",
}
FLAGS = {
    "cut.wav": "truncated",
    "layer3-called.wav": "wrong_container",
    "never-patched.wav": "header_lies",
}
LEDGER = {"header-only.wav": "empty", "not-a-number.wav": "non_finite", "page.wav": "not_audio"}
SUFFIXES = ("wav", "w64", "aiff", "au", "caf", "flac", "ogg", "mp3", "ul")
PATTERN = "(?P<label>.)(?P<group>.*)"
LATER = ("pcm-24.wav", "free.flac")
BUDGET = "0,empty=1,non_finite=1,not_audio=1"
WISH = ("--windows", "all", "--window-seconds", "1", "--hop-seconds", "0.5", "--channels", "split")


@pytest.fixture(scope="module")
def anew(deployment: Deployment, voices: Path) -> Path:
    """Real recordings, written anew by libsndfile in all its formats."""
    anew = deployment.folder / "anew"
    python = Path(deployment.paths["featurizer"]).with_name("python")
    script = Path(__file__).with_name("rewrite.py")
    subprocess.run([python, script, voices / "en", anew], check=True)
    return anew


@pytest.fixture(scope="module")
def recordings(deployment: Deployment, anew: Path) -> str:
    """The manifest of them, in HDFS."""
    return scanned(deployment, deployment.put(anew, "anew"))


@pytest.fixture(scope="module")
def features(deployment: Deployment, recordings: str) -> str:
    """Their features, made by Spark on this machine."""
    return extracted(deployment, recordings, "local[2]", BUDGET)


def scanned(deployment: Deployment, where: str, *more: str) -> str:
    """List recordings of any format; the manifest."""
    suffixes = [word for each in SUFFIXES for word in ("--suffix", each)]
    options = ("--root", deployment.root, "--pattern", PATTERN, *suffixes, *more)
    return deployment.answer("featurizer", "scan", where, *options)


def extracted(deployment: Deployment, recordings: str, master: str, budget: str, *more: str) -> str:
    """Extract the features of recordings; the manifest."""
    options = (*WISH, "--raw-format", "mulaw", "--level", "recording", "--error-budget", budget)
    words = ("run", recordings, "--master", master, *options, *more)
    return deployment.answer("featurizer", *words)


def test_every_format_becomes_features(deployment: Deployment, features: str) -> None:
    """By what the bytes are, whatever the name says."""
    columns = ("path", "recording_format", "flags")
    found = list(rows(deployment.get(features), "features", *columns))
    assert FORMATS == {row["path"]: row["recording_format"] for row in found}
    flags = {row["path"]: set(row["flags"]) & {*FLAGS.values()} for row in found}
    assert {path: {flag} for path, flag in FLAGS.items()} == {
        path: some for path, some in flags.items() if some
    }


def test_what_cannot_be_features_is_in_the_ledger(deployment: Deployment, features: str) -> None:
    """One row each, and it says why."""
    said: dict[str, Any] = json.loads(
        deployment.answer("featurizer", "inspect", features, "--ledger", "--json")
    )
    assert LEDGER == {row["path"]: row["class"] for row in said["ledger"]}
    assert {"1": 24, "2": 1} == said["contents"]["channels"]


def test_containers_make_the_same(deployment: Deployment, recordings: str, features: str) -> None:
    """To the byte, with the libraries that were shipped."""
    root = f"{deployment.root}/in-containers"
    elsewhere = ("--root", root, "--environments", f"{deployment.root}/environments")
    made = extracted(deployment, recordings, "yarn", BUDGET, *elsewhere)
    assert read_manifest(features)["identity"] == read_manifest(made)["identity"]


def test_all_of_it_verifies(deployment: Deployment, features: str) -> None:
    """Checksums and counts, read from HDFS again."""
    deployment.answer("featurizer", "verify", features)


def test_what_comes_later_is_added(
    deployment: Deployment, anew: Path, recordings: str, features: str
) -> None:
    """New recordings alone are worked on; the sharder takes both runs for one set."""
    where = f"{deployment.root}/anew"
    copies = [shutil.copy(anew / name, deployment.folder / f"later-{name}") for name in LATER]
    deployment.answer("hdfs", "dfs", "-put", *map(str, copies), where)
    added = scanned(deployment, where, "--since", recordings)
    later = extracted(deployment, added, "local[2]", "0")
    found = {row["path"] for row in rows(deployment.get(later), "features", "path")}
    assert {f"later-{name}" for name in LATER} == found
    plan = ("sharder", "plan", features, later, "--split", "train=1", "--json")
    planned = json.loads(deployment.answer(*plan))
    windows = sum(read_manifest(each)["stats"]["windows"] for each in (features, later))
    assert windows == planned["splits"]["train"]["records"]
