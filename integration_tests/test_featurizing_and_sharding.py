"""Recordings to shards, by Spark on YARN: killed on the way, and run twice at once."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from audioloom_quickstart.contents import groups_by_split, rows
from audioloom_quickstart.programs import read_manifest
from audioloom_quickstart.realdata import REFUSED
from deployment import SPLIT, Deployment
from stage_run import WORKING, StageRun

DISTURBED = pytest.mark.parametrize(
    ("stage", "program"),
    [("disturbed_featurizing", "featurizer"), ("disturbed_sharding", "sharder")],
)


@pytest.mark.slow
@DISTURBED
def test_a_killed_driver_commits_nothing(
    stage: str, program: str, request: pytest.FixtureRequest
) -> None:
    """SIGKILL while its executors work: the application ends, and there is no manifest."""
    made: StageRun = request.getfixturevalue(stage)
    assert 0 == made.left_by_killed


@pytest.mark.slow
@DISTURBED
def test_two_identical_commands_at_once_make_one_thing(
    deployment: Deployment, stage: str, program: str, request: pytest.FixtureRequest
) -> None:
    """Both succeed with the same answer; one says that it was not the first. And it verifies."""
    made: StageRun = request.getfixturevalue(stage)
    assert 1 == len(set(made.answers))
    assert [False, True] == sorted("already committed" in each for each in made.said)
    deployment.answer(program, "verify", made.manifest)


def test_every_recording_is_accounted_for(
    deployment: Deployment, voices: Path, featurizing: StageRun
) -> None:
    """In the features or in the ledger, once."""
    manifest = deployment.get(featurizing.manifest)
    features = [row["path"] for row in rows(manifest, "features", "path")]
    ledger = [(row["path"], row["class"]) for row in rows(manifest, "ledger", "path", "class")]
    files = [path.relative_to(voices).as_posix() for path in voices.rglob("*.wav")]
    assert sorted(files) == sorted([*features, *(path for path, _ in ledger)])
    assert [*REFUSED.items()] == ledger


def test_units_ran_where_their_blocks_are(featurizing: StageRun) -> None:
    """The share of local tasks is on record; with a replica on both nodes it is all of them."""
    counts = read_manifest(featurizing.manifest)["execution"]["counts"]
    assert counts["units_placed"] == counts["units_local"] > 0


def test_no_prompt_is_in_two_splits(deployment: Deployment, sharding: StageRun) -> None:
    """By what the records themselves say."""
    groups = groups_by_split(deployment.get(sharding.manifest))
    assert {"train", "val", "test"} == set(groups)
    for one, other in combinations(groups.values(), 2):
        assert set() == one & other


def test_what_is_there_is_not_made_again(
    deployment: Deployment, recordings: str, featurizing: StageRun, sharding: StageRun
) -> None:
    """The same commands again answer at once, without Spark."""
    commands: list[tuple[str, tuple[Any, ...]]] = [
        (featurizing.manifest, ("featurizer", "run", recordings)),
        (sharding.manifest, ("sharder", "run", featurizing.manifest, "--split", SPLIT)),
    ]
    for expected, words in commands:
        again = deployment.start(*words, "--master", "yarn")
        assert expected == again.answer()
        assert "already committed" in again.said
        assert WORKING not in again.said
