from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest import Opened, read_manifest
from audioloom_storage import locate
from audioloom_trainer.errors import BadReplicas
from audioloom_trainer.models.source import ModelSource
from audioloom_trainer.shards.shard_set import open_shards
from audioloom_trainer.training.spec import Wish, check_replicas, make_plan, recipe_digest
from trainer_program import Trained

WISH = Wish(
    model=ModelSource("nets", Path("/x/nets.py"), "build", "0" * 64),
    arguments={"units": 3},
    epochs=2,
    batch_size=16,
    seed=0,
    shuffle_window=8,
    deterministic=True,
)


@pytest.fixture
def shards(trained: Trained) -> Opened[Any]:
    """Shards of four lanes."""
    return read_manifest(str(trained.root / "shards" / "demo"), expect="shards")


@pytest.mark.parametrize("replicas", [0, 3, 5, 8])
def test_replicas_that_do_not_divide_the_lanes_are_refused(
    shards: Opened[Any], replicas: int
) -> None:
    """With those that do."""
    with pytest.raises(BadReplicas, match=r"lanes: 1, 2, 4, found"):
        check_replicas(open_shards(shards).split("train"), replicas)


@pytest.mark.parametrize(
    "change",
    [
        {"model": replace(WISH.model, sha256="1" * 64)},
        {"model": replace(WISH.model, function="other")},
        {"arguments": {"units": 4}},
        {"epochs": 3},
        {"batch_size": 17},
        {"seed": 1},
        {"shuffle_window": 9},
        {"deterministic": False},
    ],
)
def test_whatever_changes_the_result_changes_the_name(
    shards: Opened[Any], change: dict[str, Any]
) -> None:
    """And what a checkpoint carries."""
    plans = [
        make_plan(wish, shards, root=None, name=None, folder=None)
        for wish in (WISH, replace(WISH, **change))
    ]
    assert plans[0].name != plans[1].name
    assert recipe_digest(plans[0]) != recipe_digest(plans[1])


def test_where_it_lies_is_not_in_the_name(shards: Opened[Any], tmp_path: Path) -> None:
    """Neither the model's folder, nor the root, nor a given name changes what is trained."""
    moved = replace(WISH, model=replace(WISH.model, path=Path("/elsewhere/nets.py")))
    one = make_plan(WISH, shards, root=None, name=None, folder=None)
    two = make_plan(moved, shards, root=locate(tmp_path), name=None, folder=None)
    three = make_plan(WISH, shards, root=None, name="mine", folder=None)
    assert one.name == two.name
    assert {recipe_digest(one)} == {recipe_digest(two), recipe_digest(three)}
    assert locate(tmp_path) / f"runs/{two.name}" == two.folder
    assert "mine" == three.name


def test_inputs_are_named_from_the_root_where_they_share_it(
    shards: Opened[Any], tmp_path: Path
) -> None:
    """So that a whole tree can be copied; from elsewhere by their URI."""
    here = make_plan(WISH, shards, root=None, name=None, folder=None)
    there = make_plan(WISH, shards, root=locate(tmp_path), name=None, folder=None)
    assert "shards/demo" == here.inputs[0].location
    assert shards.folder.uri == there.inputs[0].location


def test_a_launcher_names_the_folder(shards: Opened[Any], tmp_path: Path) -> None:
    """It has made it already."""
    folder = locate(tmp_path / "runs" / "launched")
    plan = make_plan(WISH, shards, root=None, name=None, folder=folder)
    assert (folder, "launched") == (plan.folder, plan.name)
