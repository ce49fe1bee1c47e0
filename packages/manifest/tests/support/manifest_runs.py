"""A small features run, and how a stage would commit it."""

import hashlib

from audioloom_manifest.envelope import FileEntry, Producer
from audioloom_manifest.identity import run_name
from audioloom_manifest.kinds import Feature, FeaturesRecipe, FeaturesStats
from audioloom_manifest.layout import run_folder
from audioloom_manifest.publication import Attempt, Committed, Plan, commit
from audioloom_storage import Location, create

RECIPE = FeaturesRecipe(
    algorithm=1,
    feature=Feature(
        name="mfcc", dtype="float32", shape=(40, 313), sample_rate=16_000, parameters={}
    ),
    engine="numpy",
    windows="first",
    channels="mix",
    unit_bytes=1000,
    unit_recordings=10,
)
STATS = FeaturesStats(
    recordings=1,
    extracted=1,
    refused=0,
    flagged=0,
    windows=1,
    audio_seconds=1.0,
    refusals={},
    labels={},
)


def attempt() -> Attempt:
    return Attempt(Producer(stage="featurizer", version="0.1.0"), host="here")


def plan(root: Location, recipe: FeaturesRecipe = RECIPE, name: str = "") -> Plan:
    name = name or run_name("features", recipe, [])
    return Plan("features", name, run_folder(root, "features", name), recipe, ())


def write(folder: Location, path: str, data: bytes, role: str = "features") -> FileEntry:
    """A data file and its entry, as a stage would write them."""
    with create(folder / path) as sink:
        sink.write(data)
    sha256 = hashlib.sha256(data).hexdigest()
    return FileEntry(path=path, bytes=len(data), sha256=sha256, role=role, records=1)


def commit_one(root: Location, data: bytes = b"windows", name: str = "") -> Committed:
    """A committed run with one data file."""
    asked = plan(root, name=name)
    return commit(asked, attempt(), [write(asked.folder, "features/a.parquet", data)], STATS)
