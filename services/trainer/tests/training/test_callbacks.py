"""The user's callbacks: refused by name, or carried through restarts to the same bits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_trainer.input import staging
from shard_maker import make_shards
from trainer_program import CALLBACK_ZOO, ZOO, Trained, Trainer
from trainer_workers import NETWORK, ForkServer, difference, run_of, weights_of

KILLED, TRY_AGAIN = -9, 75


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("forgetful", "without get_state() and set_state(state)"),
        ("each_step", "EachStep with on_train_batch_end()"),
        ("checkpoints", "--checkpoint-interval"),
        ("elsewhere", "monitor='val_f1'"),
        ("nothing", "NoneType"),
        ("strangers", "callbacks of Keras 3"),
        ("broken", "the function is broken"),
        ("absent", "a function 'absent'"),
    ],
)
def test_what_cannot_be_called_is_refused_by_name(
    trainer: Trainer, trained: Trained, tmp_path: Path, function: str, expected: str
) -> None:
    """Before the first step, with what to do."""
    words = ("--model", f"{ZOO}:small", "--callbacks", f"{CALLBACK_ZOO}:{function}")
    ran = trainer("run", trained.root / "shards" / "demo", *words, "--root", tmp_path)
    assert 78 == ran.code
    assert expected in ran.err
    assert not list(tmp_path.rglob("manifest.json"))


def test_a_state_that_json_has_no_word_for_is_refused(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """At the end of the first epoch, when it is first asked for."""
    words = ("--model", f"{ZOO}:small", "--callbacks", f"{CALLBACK_ZOO}:unspeakable")
    ran = trainer("run", trained.root / "shards" / "demo", *words, "--root", tmp_path)
    assert 78 == ran.code
    assert "Unspeakable.get_state()" in ran.err


def test_an_error_in_a_hook_is_the_users_own(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """The message names the line of the callback, and no bug of the trainer."""
    words = ("--model", f"{ZOO}:small", "--callbacks", f"{CALLBACK_ZOO}:falling")
    ran = trainer("run", trained.root / "shards" / "demo", *words, "--root", tmp_path)
    assert 78 == ran.code
    assert "ZeroDivisionError" in ran.err
    assert f"{CALLBACK_ZOO}:" in ran.err
    assert "Falling.on_epoch_end" in ran.err


def test_hooks_get_numbers_as_keras_gives_them(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """Every hook gets a mapping, the last one with the numbers of the last epoch.

    A number of a callback that is not finite, or is called epoch, is left out of the history.
    """
    words = ("--model", f"{ZOO}:small", "--epochs", "2", "--root", tmp_path)
    callbacks = ("--callbacks", f"{CALLBACK_ZOO}:insistent")
    ran = trainer("run", trained.root / "shards" / "demo", *words, *callbacks)
    assert 0 == ran.code, ran.err
    assert "val_f1" in ran.err
    (history,) = tmp_path.rglob("history*.json")
    epochs = json.loads(history.read_text())["epochs"]
    assert all("val_f1" not in epoch for epoch in epochs)
    assert [1, 2] == [epoch["epoch"] for epoch in epochs]


def test_a_small_cache_holds_what_a_training_without_a_callback_reads(
    trainer: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that returns none must not leave shards in the cache that nobody reads."""
    monkeypatch.setattr(staging, "STALL_SECONDS", 0.5)
    records = {"train": 24, "val": 24, "test": 24}
    made = make_shards(tmp_path, records=records, lanes=1, shards=dict.fromkeys(records, 3))
    most = max(each.bytes for each in made.files("shard"))
    words = ("--model", f"{ZOO}:small", "--callbacks", f"{CALLBACK_ZOO}:empty", "--epochs", 1)
    cache = ("--shuffle-window", 1, "--cache", tmp_path / "cache", "--cache-bytes", 2 * most)
    ran = trainer("run", made.folder, *words, *cache)
    assert 0 == ran.code, ran.err


@pytest.mark.parametrize("words", [["--callback-arg", "a=1"], ["--stateless-callbacks"]])
def test_what_is_for_callbacks_needs_them(
    trainer: Trainer, trained: Trained, words: list[str]
) -> None:
    """A flag that would do nothing is a mistake."""
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 2 == ran.code
    assert "--callbacks" in ran.err


def test_one_that_may_begin_anew_is_taken_when_asked_for(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """With --stateless-callbacks."""
    words = ("--model", f"{ZOO}:small", "--epochs", "1", "--root", tmp_path)
    callbacks = ("--callbacks", f"{CALLBACK_ZOO}:forgetful", "--stateless-callbacks")
    ran = trainer("run", trained.root / "shards" / "demo", *words, *callbacks)
    assert 0 == ran.code, ran.err


# Keras's own callback asks NumPy in a way that is on its way out.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_schedule_sets_the_rate_of_each_epoch(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """And the history says it, as Keras's does."""
    words = ("--model", f"{ZOO}:small", "--epochs", "3", "--root", tmp_path)
    callbacks = ("--callbacks", f"{CALLBACK_ZOO}:scheduled")
    ran = trainer("run", trained.root / "shards" / "demo", *words, *callbacks)
    assert 0 == ran.code, ran.err
    found = trainer("inspect", ran.out.strip(), "--json").data["history"]
    assert [1e-2, 5e-3, 2.5e-3] == [pytest.approx(each["learning_rate"]) for each in found]


def test_early_stopping_ends_a_run_and_keeps_the_best_weights(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """The one that ships; the manifest counts the steps that were done."""
    words = ("--model", f"{ZOO}:small", "--epochs", "9", "--batch-size", "16", "--root", tmp_path)
    function = "builtin:early_stopping"
    given = ("--callbacks", function, "--callback-arg", "patience=1")
    shards = trained.root / "shards" / "demo"
    ran = trainer("run", shards, *words, *given, "--callback-arg", "min_delta=100")
    assert 0 == ran.code, ran.err
    opened = read_manifest(ran.out.strip(), "training-run")
    history = trainer("inspect", ran.out.strip(), "--json").data["history"]
    assert [1, 2] == [each["epoch"] for each in history]
    assert (12, 192) == (opened.manifest.stats.steps, opened.manifest.stats.records)
    assert function == opened.manifest.recipe.callbacks.function
    scores = opened.manifest.stats.scores["val"]
    assert history[0]["val_loss"] == pytest.approx(scores["loss"], abs=1e-6)
    assert history[0]["val_loss"] != history[1]["val_loss"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kills",
    [
        pytest.param([(26, [TRY_AGAIN, KILLED])], id="once"),
        pytest.param([(11, [KILLED, TRY_AGAIN]), (26, [TRY_AGAIN, KILLED])], id="twice"),
    ],
)
def test_killed_workers_go_on_with_what_callbacks_remember(
    forkserver: ForkServer, tmp_path: Path, kills: list[tuple[int, list[int]]]
) -> None:
    """Best weights, counters, a rate, a state of the user's own: the run that was never killed."""
    made = make_shards(tmp_path, records={"train": 61, "val": 23}, lanes=6)
    words: tuple[Any, ...] = ("run", made.folder, "--model", NETWORK, "--batch-size", 8)
    words += ("--epochs", 9, "--checkpoint-steps", 3, "--callbacks", f"{CALLBACK_ZOO}:several")
    words += ("--callback-arg", "patience=3", "--model-arg", "dropout=0.3")
    calm, hard = (*words, "--name", "calm"), (*words, "--name", "hard")
    assert [0, 0] == [each.code for each in forkserver.gang(2, *calm)]
    for step, codes in kills:
        faults = [{"kill_at_step": step} if code == KILLED else {} for code in codes]
        assert codes == [each.code for each in forkserver.gang(2, *hard, faults=faults)]
    assert [0, 0] == [each.code for each in forkserver.gang(2, *hard)]
    one, other = run_of(tmp_path, "calm"), run_of(tmp_path, "hard")
    assert 4 * 8 == one.manifest.stats.steps
    assert 0.0 == difference(weights_of(one), weights_of(other))
    assert one.manifest.identity == other.manifest.identity
    commits = (tmp_path / "runs" / "hard" / "checkpoints").rglob("commit.json")
    last = max((json.loads(each.read_text()) for each in commits), key=lambda one: one["step"])
    assert last["position"]["stopped"]
    assert 4 == len(last["position"]["callbacks"][0]["losses"])
