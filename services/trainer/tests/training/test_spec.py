from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.publication import Plan
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.errors import BadConfiguration
from audioloom_storage import locate
from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.errors import CacheTooSmall
from audioloom_trainer.input.batches import Replicas
from audioloom_trainer.models.source import ModelSource, find_model
from audioloom_trainer.runs.layout import Launch
from audioloom_trainer.settings import RunSettings
from audioloom_trainer.shards.shard_set import open_shards
from audioloom_trainer.training.spec import (
    RunSpec,
    check_cache,
    check_replicas,
    make_plan,
    recipe_digest,
)
from trainer_program import Trained

MODEL = ModelSource("nets", Path("/x/nets.py"), "build", "0" * 64)
SETTINGS: dict[str, Any] = {"model_arg": {"units": 3}, "epochs": 2, "batch_size": 16}


@pytest.fixture
def shards(trained: Trained) -> Opened[Any]:
    """Shards of four lanes."""
    return read_manifest(str(trained.root / "shards" / "demo"), expect="shards")


def plan(shards: Opened[Any], model: ModelSource = MODEL, **changed: Any) -> Plan:
    """The plan of a run with some settings changed."""
    settings = RunSettings(shards=shards.location.uri, **SETTINGS | changed)
    return make_plan(settings, model, None, shards)


def digest_of(plan: Plan) -> str:
    return recipe_digest(plan.recipe, plan.input_identities)


@pytest.mark.parametrize("replicas", [0, 3, 5, 8])
def test_replicas_that_do_not_divide_the_lanes_are_refused(
    shards: Opened[Any], replicas: int
) -> None:
    """With those that do."""
    with pytest.raises(BadConfiguration, match=r"lanes: 1, 2, 4, found"):
        check_replicas(open_shards(shards).split("train"), replicas)


@pytest.mark.parametrize(("workers", "window", "needed"), [(1, 1, 4), (1, 8, 8), (2, 1, 2)])
def test_a_cache_without_room_for_what_is_read_together_is_refused(
    shards: Opened[Any], workers: int, window: int, needed: int
) -> None:
    """Four lanes of two shards: the message names the bytes, and workers that would do."""
    split = open_shards(shards).split("train")
    largest = max(shard.bytes for shard in split.shards)
    replicas = Replicas(total=workers)
    check_cache(split, window, replicas, needed * largest)
    with pytest.raises(CacheTooSmall, match=f"expected {needed * largest} bytes") as refused:
        check_cache(split, window, replicas, needed * largest - 1)
    assert f"at least {2 * workers} workers" in str(refused.value)


@pytest.mark.parametrize(("lanes", "window"), [(1, 8), (24, 8), (120, 1), (960, 1)])
def test_the_default_window_gets_smaller_with_more_lanes(
    shards: Opened[Any], lanes: int, window: int
) -> None:
    """So that one worker holds no more shards at a time than it does with 24 lanes."""
    manifest = shards.manifest
    train = manifest.stats.splits["train"].model_copy(update={"lanes": lanes})
    stats = manifest.stats.model_copy(update={"splits": {"train": train}})
    changed = replace(shards, manifest=manifest.model_copy(update={"stats": stats}))
    assert window == plan(changed).recipe.shuffle_window  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "change",
    [
        {"model": replace(MODEL, sha256="1" * 64)},
        {"model": replace(MODEL, function="other")},
        {"model": find_model("builtin:conv1d")},
        {"model_arg": {"units": 4}},
        {"epochs": 3},
        {"batch_size": 17},
        {"seed": 1},
        {"shuffle_window": 9},
        {"deterministic": False},
        {"keras": "legacy"},
    ],
)
def test_whatever_changes_the_result_changes_the_name(
    shards: Opened[Any], change: dict[str, Any]
) -> None:
    """And the digest that a checkpoint carries."""
    plans = [plan(shards), plan(shards, **change)]
    assert plans[0].name != plans[1].name
    assert digest_of(plans[0]) != digest_of(plans[1])


def test_a_builtin_network_is_named_by_its_revision(shards: Opened[Any]) -> None:
    """Another revision is another run; the file is not part of the recipe."""
    model = find_model("builtin:conv1d")
    names = [
        plan(shards, each).name
        for each in (model, replace(model, path=Path("/x.py")), replace(model, revision=2))
    ]
    assert names[0] == names[1] != names[2]


def test_a_worker_has_the_cores_of_its_container(
    shards: Opened[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cost counts these, and not all cores of the node."""
    monkeypatch.setenv("SKEIN_RESOURCE_VCORES", "1")
    settings = RunSettings(shards=shards.location.uri, **SETTINGS)
    made = make_plan(settings, MODEL, None, shards)
    spec = RunSpec(settings, made, MODEL, None, shards, Cluster(), Launch())
    assert 1 == spec.cores


def test_where_it_lies_is_not_in_the_name(shards: Opened[Any], tmp_path: Path) -> None:
    """Neither the model's folder, nor the root, nor a given name changes what is trained."""
    one = plan(shards)
    two = plan(shards, replace(MODEL, path=Path("/elsewhere/nets.py")), root=str(tmp_path))
    three = plan(shards, name="mine")
    assert one.name == two.name
    assert {digest_of(one)} == {digest_of(two), digest_of(three)}
    assert locate(tmp_path) / f"runs/{two.name}" == two.folder
    assert "mine" == three.name


def test_inputs_are_named_from_the_root_where_they_share_it(
    shards: Opened[Any], tmp_path: Path
) -> None:
    """So that a whole tree can be copied; from elsewhere by their URI."""
    assert "shards/demo" == plan(shards).inputs[0].location
    assert shards.folder.uri == plan(shards, root=str(tmp_path)).inputs[0].location


def test_a_launcher_names_the_folder(shards: Opened[Any], tmp_path: Path) -> None:
    """It has made it already."""
    folder = locate(tmp_path / "runs" / "launched")
    settings = RunSettings(shards=shards.location.uri, **SETTINGS)
    launched = make_plan(settings, MODEL, None, shards, folder)
    assert (folder, "launched") == (launched.folder, launched.name)
