"""A feature by a function of the user: every feature of librosa, or of any other library."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.errors import BadSettings, RefusedRecording, require
from audioloom_audio.features.feature import Analysis, Engine, Level, Transform, WindowShape
from audioloom_audio.features.waveform import loudest_power

Scalar = bool | int | float | str | None
_DIMENSIONS = 2


@dataclass(frozen=True)
class Function:
    """The feature that a function computes, window by window.

    The function gets the samples of a window (float32, read-only, zeros where nothing was
    recorded), the sample rate in Hz, and the arguments by their names. It returns real numbers of
    one shape for all windows: ``(d, frames)``, or ``(n,)`` for one vector per window. It must be
    pure: the same samples give the same values.

    Attributes:
        module: Name of the module or of its file, for errors.
        source: Text of the module, which is run once in every process that computes the feature.
        name: Name of the function, and of the feature.
        arguments: Names and values.
    """

    level: ClassVar[Level] = "window"
    agreement: ClassVar[None] = None

    module: str
    source: str
    name: str
    arguments: tuple[tuple[str, Scalar], ...] = ()

    @property
    def sha256(self) -> str:
        """Digest of the module's text, in hex."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    def check(self, window: WindowShape) -> None:
        """Raise `BadSettings` if there is no such function, or it returns no feature."""
        require(self.name.isidentifier(), "feature", "the name of a function", self.name)
        try:
            self.shape(window)
        except RefusedRecording as error:
            raise BadSettings(f"feature: expected {error.expected}, found {error.found}") from error

    def shape(self, window: WindowShape) -> tuple[int, int]:
        """Shape of the values, found by calling the function with noise."""
        return _shape(self, window)

    def valid_frames(self, window: WindowShape, valid: int) -> int:
        """The share of the frames that the samples are of the window, rounded up."""
        return -(-self.shape(window)[1] * valid // window.samples)

    def transform(self, window: WindowShape, engine: Engine) -> Transform:
        """Call the function for every window; the power of its samples tells silence."""
        kept = self.shape(window)

        def analyse(padded: NDArray[np.float32], _: int) -> Analysis:
            loudest = loudest_power(padded)
            if not np.isfinite(loudest):
                return Analysis(np.zeros(kept, np.float32), loudest)
            values = self.call(padded, window.sample_rate)
            if values.shape != kept:
                expected = f"the shape {kept} from {self.module}:{self.name}, as of other windows"
                raise _failed(expected, f"{values.shape}")
            return Analysis(values, loudest)

        return Transform("function", 0, kept, analyse, lambda analysed, _: analysed)

    def call(self, samples: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
        """Call the function.

        Raises:
            RefusedRecording: it raised an error, or its result is no finite matrix or vector.
        """
        where = f"{self.module}:{self.name}"
        function = _load(self.module, self.source, self.name)
        samples = samples.copy()
        samples.flags.writeable = False
        try:
            found = np.asarray(function(samples, rate, **dict(self.arguments)))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            raise _failed(f"a feature from {where}", text) from error
        if found.ndim not in (1, _DIMENSIONS) or found.dtype.kind not in "fiu" or not found.size:
            what = f"{found.dtype} of shape {found.shape}"
            raise _failed(f"real numbers (d, frames) or (n,) from {where}", what)
        values = np.ascontiguousarray(found.reshape(len(found), -1), np.float32)
        if not np.isfinite(values).all():
            raise _failed(f"finite numbers from {where}", "NaN or infinity")
        return values


@lru_cache(maxsize=8)
def _shape(feature: Function, window: WindowShape) -> tuple[int, int]:
    noise = 0.1 * np.random.default_rng(0).standard_normal(window.samples, np.float32)
    rows, frames = feature.call(noise, window.sample_rate).shape
    return (rows, frames)


@lru_cache(maxsize=8)
def _load(module: str, source: str, name: str) -> Callable[..., Any]:
    """Run the text of a module, under a name of its own, and return its function."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    made = ModuleType(f"audioloom_function_{digest[:16]}")
    made.__file__ = module
    sys.modules[made.__name__] = made  # dataclasses and pickle look modules up
    try:
        exec(compile(source, module, "exec"), made.__dict__)  # noqa: S102 - the user's own
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise _failed(f"a module that can be imported, {module}", text) from error
    function = made.__dict__.get(name)
    if not callable(function):
        raise _failed(f"a function {name!r} in {module}", "none")
    called: Callable[..., Any] = function
    return called


def _failed(expected: str, found: str) -> RefusedRecording:
    """The refusal of a recording, whose name the caller adds."""
    return RefusedRecording("function_failed", "", expected, found)
