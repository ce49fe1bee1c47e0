"""Check a run's architecture before Keras builds it: only listed Keras classes are allowed.

Keras imports and calls the names in such a JSON, and its safe mode has not protected against that
(CVE-2024-3660, CVE-2025-1550, CVE-2026-1462). So the whole JSON is checked first. Anything not
listed here is refused, in later versions of Keras too: layers that run code (`Lambda`), load a
model (`TFSMLayer`) or read a file (`StringLookup`), functions, and classes outside Keras.
"""

import json
from collections.abc import Iterator
from typing import Any

_MOST_BYTES = 16 << 20
_MOST_DEPTH = 64

_LAYERS = """
    Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D
    AdaptiveMaxPooling1D AdaptiveMaxPooling2D Add AdditiveAttention AlphaDropout Attention Average
    AveragePooling1D AveragePooling2D AveragePooling3D BatchNormalization Bidirectional Concatenate
    Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D
    Cropping1D Cropping2D Cropping3D Dense DepthwiseConv1D DepthwiseConv2D Dot Dropout ELU
    EinsumDense Embedding Flatten GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D
    GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D
    GlobalMaxPooling3D GroupNormalization GroupQueryAttention Identity InputLayer LSTM LSTMCell
    LayerNormalization LeakyReLU Masking MaxPooling1D MaxPooling2D MaxPooling3D Maximum Minimum
    MultiHeadAttention Multiply Normalization PReLU Permute RMSNormalization RNN ReLU RepeatVector
    Rescaling Reshape SeparableConv1D SeparableConv2D SimpleRNN SimpleRNNCell Softmax
    SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells
    Subtract TimeDistributed UnitNormalization UpSampling1D UpSampling2D UpSampling3D
    ZeroPadding1D ZeroPadding2D ZeroPadding3D
"""
_OPERATIONS = """
    Absolute Add Clip Concatenate Divide Exp ExpandDims Flip GetItem Log Log10 Log1p Max Maximum
    Mean Min Minimum Multiply Negative Power Reshape Sqrt Square Squeeze Stack Std Subtract Sum Tanh
    Transpose TrueDivide Var
"""
_INITIALIZERS = """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity LecunNormal LecunUniform Ones
    Orthogonal OrthogonalInitializer RandomNormal RandomUniform TruncatedNormal VarianceScaling
    Zeros
"""
_OPTIMIZERS = """
    Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer Muon Nadam
    RMSprop SGD
"""
_SCHEDULES = """
    CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay PiecewiseConstantDecay
    PolynomialDecay
"""
_LOSSES = """
    BinaryCrossentropy BinaryFocalCrossentropy Hinge Huber KLDivergence LogCosh MeanAbsoluteError
    MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson
    SparseCategoricalCrossentropy SquaredHinge
"""
_METRICS = """
    AUC Accuracy BinaryAccuracy BinaryCrossentropy FalseNegatives FalsePositives
    LogCoshError Mean MeanAbsoluteError MeanAbsolutePercentageError MeanMetricWrapper
    MeanSquaredError MeanSquaredLogarithmicError Poisson Precision PrecisionAtRecall R2Score Recall
    RecallAtPrecision RootMeanSquaredError SensitivityAtSpecificity SparseCategoricalAccuracy
    SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SpecificityAtSensitivity
    TrueNegatives TruePositives
"""
_CLASSES = {
    f"{module}.{name}"
    for module, names in {
        "keras": "DTypePolicy Functional Model Sequential",
        "keras.constraints": "MaxNorm MinMaxNorm NonNeg UnitNorm",
        "keras.dtype_policies": "DTypePolicy DTypePolicyMap FloatDTypePolicy",
        "keras.initializers": _INITIALIZERS,
        "keras.layers": _LAYERS,
        "keras.losses": _LOSSES,
        "keras.metrics": _METRICS,
        "keras.optimizers": _OPTIMIZERS,
        "keras.optimizers.schedules": _SCHEDULES,
        "keras.regularizers": "L1 L1L2 L2 OrthogonalRegularizer",
        "keras.src.models.functional": "Functional",
        "keras.src.ops.numpy": _OPERATIONS,
    }.items()
    for name in names.split()
}
_VALUES = frozenset(["__ellipsis__", "__keras_tensor__", "__numpy__", "__slice__", "__tensor__"])
"""What Keras writes for a value that JSON has no word for; two more of them hold code."""
_FUNCTIONS = """
    binary_accuracy binary_crossentropy elu exponential gelu hard_sigmoid hard_silu hard_tanh hinge
    huber kl_divergence leaky_relu linear log_cosh log_softmax mean_absolute_error
    mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mish poisson
    relu relu6 selu sigmoid silu softmax softplus softsign sparse_categorical_accuracy
    sparse_categorical_crossentropy sparse_top_k_categorical_accuracy squared_hinge swish tanh
"""
_NAMES_A_PART = ("class_name", "module", "registered_name", "spec_name")


class BadArchitecture(ValueError):
    """The data is no JSON of an architecture."""


class ForeignPart(ValueError):
    """The architecture names a class or function outside the list, such as the user's own."""


def read_architecture(data: bytes) -> dict[str, Any]:
    """Read the JSON of `keras.Model.to_json` and check that Keras may build it.

    Raises:
        BadArchitecture: the data is no architecture, or is too large or too deep.
        ForeignPart: the architecture is empty, or a part is not of Keras or does more than compute.
    """
    if len(data) > _MOST_BYTES:
        raise BadArchitecture(f"{len(data)} bytes")
    try:
        value = json.loads(data)
    except (RecursionError, ValueError) as error:
        raise BadArchitecture(str(error)) from None
    if not isinstance(value, dict):
        raise BadArchitecture("no JSON object")
    if not value:
        raise ForeignPart("no architecture: Keras could not write it")
    for each in _objects(value):
        _check(each)
    if f"{value.get('module')}.{value.get('class_name')}" not in _CLASSES:
        raise BadArchitecture("no class at its top")
    return value


def _objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > _MOST_DEPTH:
        raise BadArchitecture(f"more than {_MOST_DEPTH} levels")
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _objects(each, depth + 1)


def _check(part: dict[str, Any]) -> None:
    if not any(key in part for key in _NAMES_A_PART):
        return
    module, name, content = part.get("module"), part.get("class_name"), part.get("config")
    registered = part.get("registered_name")
    if name == "function" and isinstance(content, str):
        known = module == "builtins" and content in _FUNCTIONS.split() and registered == "function"
        name = content
    elif "module" not in part and isinstance(name, str) and name in _VALUES:
        known = registered is None and "spec_name" not in part
    else:
        known = f"{module}.{name}" in _CLASSES and registered in (None, name)
        known = known and isinstance(content, dict) and "spec_name" not in part
    if isinstance(content, dict) and content.get("exclude_layers"):  # an option of Muon
        raise ForeignPart("patterns for names of layers, which may take for ever to search")
    if not known:
        place = f"{module}.{name}" if module else f"{name} of no module"
        as_what = "" if registered in (None, name, "function") else f", called {registered}"
        raise ForeignPart(f"{place}{as_what}"[:200])
