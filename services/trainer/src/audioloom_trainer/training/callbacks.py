"""Callbacks of Keras that the user brings: called at the ends of epochs, carried through restarts.

Every worker calls all of them with the same numbers, so that all decide alike. Their state lies in
the checkpoints: a callback whose state nobody can read would begin anew after a restart, and the
run would end otherwise than one that was never interrupted. So it is refused, unless asked for.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import callbacks as known
from numpy.typing import NDArray

from audioloom_trainer.errors import BadCallbacks, describe_error
from audioloom_trainer.models.arguments import with_secrets
from audioloom_trainer.models.build import load_function
from audioloom_trainer.models.source import ModelSource

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
) -> list[keras.callbacks.Callback]:
    """Call the user's function and check what it returns.

    Args:
        source: where the function is.
        arguments: the user's own, by name; a secret is a reference to a variable.
        stateless: callbacks that begin anew after a restart are asked for.

    Raises:
        BadCallbacks: what cannot be called, or not exactly, by name.
        BadConfiguration: the variable of a secret is not set.
    """
    function = load_function(source)
    given = with_secrets(arguments)
    try:
        found = function(**given)
    except Exception as error:
        raise BadCallbacks(
            where=source.line_of(error), expected="a list of callbacks", found=describe_error(error)
        ) from error
    if not isinstance(found, list | tuple):
        raise BadCallbacks(
            where=source.place, expected="a list of callbacks", found=type(found).__name__
        )
    for callback in found:
        _check(callback, source, stateless=stateless)
    return list(found)


def _check(callback: Any, source: ModelSource, *, stateless: bool) -> None:
    name = f"{type(callback).__module__}.{type(callback).__qualname__}"

    def refuse(expected: str, found: str, hint: str) -> BadCallbacks:
        return BadCallbacks(where=source.place, expected=expected, found=found, hint=hint)

    if not isinstance(callback, known.Callback):
        raise refuse("callbacks of Keras 3", name, "Derive it from keras.callbacks.Callback.")
    for kind, hint in _OURS.items():
        if isinstance(callback, kind):
            raise refuse("callbacks that the trainer needs", name, f"{hint} Leave it out.")
    for hook in _NEVER_CALLED:
        method = getattr(callback, hook)
        if getattr(method, "__func__", method) is not getattr(known.Callback, hook):
            raise refuse(
                "callbacks for the beginning and the end of training and of epochs",
                f"{name} with {hook}()",
                "Steps run in blocks inside TensorFlow, where nothing is called.",
            )
    if not stateless and type(callback) not in _STATE and not _has_hooks(callback):
        raise refuse(
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

    each: Sequence[keras.callbacks.Callback]
    where: str
    """Where they come from, for errors."""

    def __bool__(self) -> bool:
        return bool(self.each)

    def begin(self, model: keras.Model, names: Sequence[str]) -> None:
        """Show them the model, and begin.

        Args:
            model: restored; it must be what `end` shall work on.
            names: of the numbers that they will be told.

        Raises:
            BadCallbacks: one looks at a number that there will not be.
        """
        model.stop_training = False
        for callback in self.each:
            monitor = getattr(callback, "monitor", None)
            if isinstance(monitor, str) and monitor not in names:
                raise BadCallbacks(
                    where=self.where,
                    expected=f"a callback that looks at one of {', '.join(names)}",
                    found=f"{type(callback).__name__} with monitor={monitor!r}",
                )
            callback.set_model(model)
            callback.on_train_begin()

    def epoch_begins(self, epoch: int) -> None:
        """Tell them; epochs count from 0."""
        for callback in self.each:
            callback.on_epoch_begin(epoch)

    def epoch_ended(self, epoch: int, entry: dict[str, float]) -> bool:
        """Tell them how the epoch went, and hear whether it was the last.

        Args:
            epoch: counted from 0.
            entry: loss and metrics; what they add to it stays, as in Keras's history.
        """
        for callback in self.each:
            callback.on_epoch_end(epoch, entry)
        for name, value in list(entry.items()):
            entry[name] = float(value)
        return any(bool(callback.model.stop_training) for callback in self.each)

    def end(self) -> None:
        """Tell them that the training is over."""
        for callback in self.each:
            callback.on_train_end()

    def state(self) -> list[dict[str, Any]]:
        """What each of them remembers, as JSON has it.

        Raises:
            BadCallbacks: a user's own state is nothing that JSON has.
        """
        return [self._state(callback) for callback in self.each]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The weights that some of them remember, by name."""
        return {
            f"{ARRAYS}{number:05}/{index:05}": np.asarray(array)
            for number, callback in enumerate(self.each)
            for index, array in enumerate(getattr(callback, "best_weights", None) or ())
            if type(callback) is known.EarlyStopping
        }

    def restore(
        self, states: Sequence[dict[str, Any]], arrays: Mapping[str, NDArray[np.generic]]
    ) -> None:
        """Set what `state` and `arrays` gave; after `begin`, which lets Keras's own begin anew."""
        for number, (callback, state) in enumerate(zip(self.each, states, strict=True)):
            if type(callback) in _STATE:
                for name, value in state.items():
                    setattr(callback, name, value)
            elif _has_hooks(callback):
                callback.set_state(state)
            mine = sorted(name for name in arrays if name.startswith(f"{ARRAYS}{number:05}/"))
            if mine:
                callback.best_weights = [arrays[name] for name in mine]

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
                where=self.where,
                expected=f"a dict as JSON has it from {type(callback).__name__}.get_state()",
                found=repr(state)[:300],
            )
        return state
