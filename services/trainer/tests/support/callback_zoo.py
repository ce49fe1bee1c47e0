"""Functions for `--callbacks`: what is taken, and what is refused."""

from __future__ import annotations

from typing import Any

import keras


class Remembering(keras.callbacks.Callback):
    """Makes the learning rate depend on all epochs so far, and can say what it remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.losses.append(logs["loss"])
        self.model.optimizer.learning_rate = 1e-3 / (1 + sum(self.losses))

    def get_state(self) -> dict[str, Any]:
        return {"losses": self.losses}

    def set_state(self, state: dict[str, Any]) -> None:
        self.losses = list(state["losses"])


class Forgetful(keras.callbacks.Callback):
    """Has a state that nobody can read."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seen = epoch


class Unspeakable(Remembering):
    """Has a state that JSON has no word for."""

    def get_state(self) -> dict[str, Any]:
        return {"losses": {1, 2}}


class Insistent(Remembering):
    """Needs the numbers of every hook, as Keras gives them, and adds one that is not finite."""

    def on_train_begin(self, logs: Any) -> None:
        assert not logs.keys()

    def on_epoch_begin(self, epoch: int, logs: Any) -> None:
        assert not logs.keys()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        super().on_epoch_end(epoch, logs)
        logs["val_f1"] = float("nan")
        logs["epoch"] = 7.0

    def on_train_end(self, logs: Any) -> None:
        assert logs["loss"] == self.losses[-1]


class Falling(Remembering):
    """Has a mistake of its user in a hook."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["share"] = epoch / 0


class EachStep(keras.callbacks.Callback):
    """Wants to be called between steps."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        raise AssertionError


def several(patience: int = 2) -> list[keras.callbacks.Callback]:
    """Everything with a state, at once; the loss is never good enough."""
    known = keras.callbacks
    return [
        Remembering(),
        known.ReduceLROnPlateau("val_loss", factor=0.5, patience=1, min_delta=10.0),
        known.EarlyStopping(
            "val_loss", patience=patience, min_delta=10.0, restore_best_weights=True
        ),
    ]


def scheduled() -> list[keras.callbacks.Callback]:
    """Another learning rate for each epoch."""
    return [keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.5**epoch * 1e-2)]


def insistent() -> list[keras.callbacks.Callback]:
    return [Insistent()]


def falling() -> list[keras.callbacks.Callback]:
    return [Falling()]


def forgetful() -> list[keras.callbacks.Callback]:
    return [Forgetful()]


def unspeakable() -> list[keras.callbacks.Callback]:
    return [Unspeakable()]


def each_step() -> list[keras.callbacks.Callback]:
    return [EachStep()]


def checkpoints() -> list[keras.callbacks.Callback]:
    return [keras.callbacks.ModelCheckpoint("x.keras")]


def elsewhere() -> list[keras.callbacks.Callback]:
    return [keras.callbacks.EarlyStopping("val_f1")]


def empty() -> list[keras.callbacks.Callback]:
    return []


def nothing() -> None:
    return None


def strangers() -> list[object]:
    return [object()]


def broken() -> None:
    raise RuntimeError("the function is broken")
