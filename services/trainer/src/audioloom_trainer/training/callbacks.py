"""The user's Keras callbacks: called at the end of each epoch, restored after restarts.

Every worker calls all callbacks with equal numbers, so all workers decide alike. Checkpoints hold
the state of the callbacks. A callback with unreadable state would start from nothing after a
restart and change the result of the run, so it is refused unless the user allows it.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import structlog
import tensorflow as tf
from audioloom_stage.arguments import with_secrets
from keras import callbacks as known
from numpy.typing import NDArray

from audioloom_trainer.errors import BadCallbacks, describe_error
from audioloom_trainer.models.build import load_function
from audioloom_trainer.models.source import ModelSource
from audioloom_trainer.models.state import fitting

log = structlog.get_logger()

ARRAYS = "callback-"
"""How the names of their arrays in a checkpoint begin."""

_STATE = {
    known.EarlyStopping: ("wait", "best", "best_epoch", "stopped_epoch"),
    known.ReduceLROnPlateau: ("wait", "best", "cooldown_counter"),
    known.LearningRateScheduler: (),
}
_OURS = {
    known.BackupAndRestore: "The trainer takes checkpoints: see --checkpoint-interval.",
    known.ModelCheckpoint: "The trainer takes checkpoints: see --checkpoint-interval.",
    known.TerminateOnNaN: "The trainer ends at a loss that is not finite.",
}
_NEVER_CALLED = tuple(
    f"on_{what}_{when}"
    for what in ("batch", "train_batch", "test", "test_batch", "predict", "predict_batch")
    for when in ("begin", "end")
)


def load_callbacks(
    source: ModelSource, arguments: Mapping[str, Any], *, stateless: bool
) -> "Callbacks":
    """Call the user's function and check the callbacks that it returns.

    Only *stateless* allows callbacks that lose their state at a restart.

    Raises:
        BadCallbacks: names the callback that cannot be called exactly.
        BadConfiguration: the variable of a secret is not set.
    """
    function = load_function(source)
    given, expected = with_secrets(arguments), "a list of callbacks"
    try:
        each = function(**given)
    except Exception as error:
        found = describe_error(error)
        raise BadCallbacks(where=source.line_of(error), expected=expected, found=found) from error
    if not isinstance(each, list | tuple):
        raise BadCallbacks(where=source.place, expected=expected, found=type(each).__name__)
    for callback in each:
        for expected, found, hint in _faults(callback, stateless=stateless):
            raise BadCallbacks(where=source.place, expected=expected, found=found, hint=hint)
    return Callbacks(each, source)


def _faults(callback: Any, *, stateless: bool) -> Iterator[tuple[str, str, str]]:
    """Yield what was expected of a callback, what was found, and a remedy."""
    name = f"{type(callback).__module__}.{type(callback).__qualname__}"
    if not isinstance(callback, known.Callback):
        yield "callbacks of Keras 3", name, "Derive it from keras.callbacks.Callback."
    for kind, hint in _OURS.items():
        if isinstance(callback, kind):
            yield "callbacks that the trainer needs", name, f"{hint} Leave it out."
    for hook in _NEVER_CALLED:
        method = getattr(callback, hook)
        if getattr(method, "__func__", method) is not getattr(known.Callback, hook):
            yield (
                "callbacks for the beginning and the end of training and of epochs",
                f"{name} with {hook}()",
                "Steps run in blocks inside TensorFlow, where nothing is called.",
            )
    if not stateless and type(callback) not in _STATE and not _has_hooks(callback):
        yield (
            "callbacks whose state a checkpoint can keep",
            f"{name} without get_state() and set_state(state)",
            "Give it both (the state as JSON has it), or --stateless-callbacks if it may begin anew"
            " after a restart.",
        )


def _has_hooks(callback: Any) -> bool:
    return all(callable(getattr(callback, name, None)) for name in ("get_state", "set_state"))


@dataclass(frozen=True)
class Callbacks:
    """The callbacks of a training."""

    each: Sequence[keras.callbacks.Callback] = ()
    source: ModelSource | None = None
    """Where they come from; None if there are none."""

    def __bool__(self) -> bool:
        return bool(self.each)

    def begin(self, model: keras.Model, names: Sequence[str]) -> None:
        """Give the callbacks the restored model and the names of its numbers, and start them.

        Raises:
            BadCallbacks: a callback monitors a number that is not in *names*.
        """
        model.stop_training = False
        for callback in self.each:
            monitor = getattr(callback, "monitor", None)
            if isinstance(monitor, str) and monitor not in names:
                raise BadCallbacks(
                    where=self.source and self.source.place,
                    expected=f"a callback that looks at one of {', '.join(names)}",
                    found=f"{type(callback).__name__} with monitor={monitor!r}",
                )
            callback.set_model(model)
        self.call("on_train_begin", {})

    def call(self, hook: str, *arguments: Any) -> None:
        """Call one of Keras's hooks of every callback.

        Raises:
            BadCallbacks: a callback raised an error; an error of TensorFlow passes unchanged,
                because it may tell of a lost worker.
        """
        for callback in self.each:
            try:
                getattr(callback, hook)(*arguments)
            except tf.errors.OpError:
                raise
            except Exception as error:
                raise BadCallbacks(
                    where=self.source and self.source.line_of(error),
                    expected=f"{type(callback).__name__}.{hook} to end without an error",
                    found=describe_error(error),
                ) from error

    def epoch_ended(self, epoch: int, entry: dict[str, float]) -> bool:
        """Call the callbacks at the end of an epoch; True if a callback ends the training.

        Values that they add to the loss and metrics in *entry* stay, as in Keras's history, if they
        are finite: JSON has no others. The name "epoch" is that of the number of the epoch.
        """
        self.call("on_epoch_end", epoch, entry)
        for name, value in list(entry.items()):
            entry[name] = float(value)
            if name == "epoch" or not math.isfinite(entry[name]):
                log.warning(
                    "leaving out a number of the callbacks", name=name, found=entry.pop(name)
                )
        return any(bool(callback.model.stop_training) for callback in self.each)

    def state(self) -> list[dict[str, Any]]:
        """Return each callback's state as JSON values; BadCallbacks if a user's own is not JSON."""
        return [self._state(callback) for callback in self.each]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the weights that callbacks keep, by name."""
        return {
            f"{ARRAYS}{number:05}/{index:05}": np.asarray(array)
            for number, callback in enumerate(self.each)
            for index, array in enumerate(getattr(callback, "best_weights", None) or ())
            if type(callback) is known.EarlyStopping
        }

    def restore(
        self, states: Sequence[dict[str, Any]], arrays: Mapping[str, NDArray[np.generic]]
    ) -> None:
        """Restore `state` and `arrays`; call it after `begin`, which resets Keras's callbacks."""
        for number, (callback, state) in enumerate(zip(self.each, states, strict=True)):
            if type(callback) in _STATE:
                for name, value in state.items():
                    setattr(callback, name, value)
            elif _has_hooks(callback):
                callback.set_state(state)
            mine = sorted(name for name in arrays if name.startswith(f"{ARRAYS}{number:05}/"))
            if mine:
                callback.best_weights = [
                    fitting(variable, name, arrays[name])
                    for variable, name in zip(callback.model.weights, mine, strict=True)
                ]

    def _state(self, callback: Any) -> dict[str, Any]:
        if type(callback) in _STATE:
            found = {name: getattr(callback, name, None) for name in _STATE[type(callback)]}
            return {k: v if v is None or isinstance(v, int) else float(v) for k, v in found.items()}
        if not _has_hooks(callback):
            return {}
        state = callback.get_state()
        try:
            same = json.loads(json.dumps(state, allow_nan=False)) == state
        except (TypeError, ValueError):
            same = False
        if not same or not isinstance(state, dict):
            raise BadCallbacks(
                where=self.source and self.source.place,
                expected=f"a dict as JSON has it from {type(callback).__name__}.get_state()",
                found=repr(state)[:300],
            )
        return state
