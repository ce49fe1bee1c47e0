"""The model of a training, built from its architecture. Needs the extra `audioloom[cpu]`, or Keras.

Keras builds only what `audioloom_manifest.architecture` lets through: a manifest never makes this
process import or call anything else.
"""

from typing import Any

import keras
import numpy as np
from audioloom_manifest.architecture import BadArchitecture, ForeignPart, read_architecture
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened
from audioloom_manifest.records.arrays import load_arrays
from audioloom_stage.errors import BadData
from numpy.typing import NDArray


def build(opened: Opened[TrainingRunManifest], architecture: bytes, weights: bytes) -> Any:
    """Build the model and set its weights, as `Training.model` says."""
    if opened.manifest.recipe.keras != "3":
        raise _wrong(opened, "a model of Keras 3", "a model of tf_keras")
    try:
        model = keras.saving.deserialize_keras_object(read_architecture(architecture))
    except (BadArchitecture, ForeignPart) as error:
        raise _wrong(opened, "an architecture of Keras's own classes", str(error)) from None
    except Exception as error:  # another version of Keras may raise anything
        raise _wrong(opened, "an architecture that this Keras builds", str(error)) from error
    try:
        arrays = [*load_arrays(weights).values()]
        if len(arrays) == len(model.weights):  # otherwise Keras tells both numbers
            arrays = [_values(*pair) for pair in zip(model.weights, arrays, strict=True)]
        model.set_weights(arrays)
    except (TypeError, ValueError) as error:  # BadArrays is a ValueError
        raise _wrong(opened, "weights of the model", str(error)) from None
    return model


def _values(variable: Any, found: NDArray[Any]) -> NDArray[Any]:
    """Return what was found as the type of the variable."""
    kind = np.dtype(keras.backend.standardize_dtype(variable.dtype))
    # NumPy stores an extension type, such as bfloat16, as raw bytes.
    return found.view(kind) if found.dtype.kind == "V" else found.astype(kind, copy=False)


def _wrong(opened: Opened[TrainingRunManifest], expected: str, found: str) -> BadData:
    return BadData(
        where=opened.location,
        expected=expected,
        found=found[:300],
        hint="audioloom-trainer export copies the model for other programs.",
    )
