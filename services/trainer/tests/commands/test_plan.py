"""`plan`: what a training would be, before anything is read or written."""

from __future__ import annotations

from pathlib import Path

from shard_maker import make_shards
from trainer_program import SMALL, ZOO, Trained, Trainer


def test_missing_shards_are_told(trainer: Trainer, tmp_path: Path) -> None:
    """Exit code 66."""
    assert 66 == trainer("plan", tmp_path / "nothing").code


def test_a_new_training_is_shown_without_its_shards(trainer: Trainer, tmp_path: Path) -> None:
    """The manifest is enough, and nothing is written."""
    shards = make_shards(tmp_path, records={"train": 96, "val": 24}, lanes=4)
    for entry in shards.files():
        Path(shards.folder.path, entry.path).unlink()
    ran = trainer("plan", shards.folder, *SMALL, "--json")
    assert 0 == ran.code, ran.err
    assert ("new", 6, 12, 0) == tuple(
        ran.data[name] for name in ("state", "steps_per_epoch", "steps", "steps_done")
    )
    assert [1, 2, 4] == ran.data["replicas"]
    assert not (tmp_path / "runs").exists()
    assert "1, 2, 4" in trainer("plan", shards.folder, *SMALL).out


def test_a_committed_run_is_recognised(trainer: Trainer, trained: Trained) -> None:
    """By its recipe: the same words as those of `run`."""
    shards = trained.root / "shards" / "demo"
    ran = trainer("plan", shards, *SMALL, "--json")
    assert ("committed", trained.run.manifest.name) == (ran.data["state"], ran.data["name"])
    assert 12 == ran.data["steps_done"]
    assert "new" == trainer("plan", shards, *SMALL, "--seed", "9", "--json").data["state"]


def test_a_cost_is_predicted_and_noted(trainer: Trainer, trained: Trained) -> None:
    """By constants before the first run, by that run before the next one, of another length."""
    noted = trained.run.manifest.execution.cost
    assert {0} == {each.runs for each in noted.values()}
    written = sum(entry.bytes for entry in trained.run.files())
    assert written == noted["stored_bytes"].actual
    assert noted["seconds"].actual
    shards = trained.root / "shards" / "demo"
    words = (shards, *SMALL, "--epochs", "7")
    found = trainer("plan", *words, "--json").data["cost"]
    assert 1 == found["seconds"]["runs"]
    assert 0 == found["cache_bytes"]["most"]
    copied = trainer("plan", *words, "--cache", "here", "--json").data["cost"]
    assert copied["cache_bytes"]["likely"] > 0
    assert ", by 1 earlier run" in trainer("plan", *words).out
    assert ", by constants, took " in trainer("inspect", trained.run.folder).out


def test_another_model_is_predicted_with_a_wide_range(trainer: Trainer, trained: Trained) -> None:
    """Nobody knows what it computes. Replicas hold their cores, and exchange what they learned."""
    shards = trained.root / "shards" / "demo"
    words = ("plan", shards, "--json", "--epochs", "900")
    known, other, shared = (
        trainer(*words, *more).data["cost"]
        for more in ((), ("--model", f"{ZOO}:small"), ("--replicas", "4"))
    )
    assert 2 * known["seconds"]["most"] < other["seconds"]["most"]
    assert shared["seconds"]["likely"] > known["seconds"]["likely"], "records are few"
    assert shared["core_seconds"]["likely"] > 4 * known["core_seconds"]["likely"]


def test_capacity_is_judged_line_by_line(trainer: Trainer, trained: Trained) -> None:
    """In the envelope of every result; four lanes cannot be three replicas'."""
    shards = trained.root / "shards" / "demo"
    ran = trainer("plan", shards, "--capacity", "--replicas", "3", "--json")
    assert (0, "red") == (ran.code, ran.data["verdict"])
    verdicts = {one["name"]: one["verdict"] for one in ran.data["capacity"]}
    assert "red" == verdicts.pop("replicas (allowed: 1, 2, 4)")
    assert {"green"} == {*verdicts.values()}
    assert "what to change" in trainer("plan", shards, "--capacity").out
