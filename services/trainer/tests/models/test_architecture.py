from __future__ import annotations

import builtins
import importlib
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest
from audioloom_manifest.architecture import BadArchitecture, ForeignPart, read_architecture
from audioloom_trainer.models.build import configuration
from audioloom_trainer.models.state import restore_weights, weights
from audioloom_trainer.networks import conv1d, conv2d_gru
from hypothesis import given, settings
from hypothesis import strategies as st
from model_zoo import compiled, counts_batches, never_finite_metric, own_class, own_loss, small

pytestmark = pytest.mark.usefixtures("tensorflow")

SHAPE = (6, 21)
layers = keras.layers


def part(module: str | None, name: str, config: Any = None, **more: Any) -> dict[str, Any]:
    """As Keras writes an object."""
    config = {} if config is None else config
    return {"module": module, "class_name": name, "config": config, "registered_name": None} | more


HOSTILE: dict[str, Any] = {
    "a function of os": part("os", "function", "system", registered_name="function"),
    "a function of os among the built-in ones": part(
        "builtins", "function", "os.system", registered_name="function"
    ),
    "a class of subprocess": part("subprocess", "Popen", {"args": ["true"]}),
    "a class in site-packages": part("numpy", "memmap", {"filename": "/etc/passwd"}),
    "a planted module": part("planted", "Layer"),
    "a planted module below keras": part("keras.planted", "Dense"),
    "a module called like Keras": part("keras_hub", "Dense"),
    "Lambda": part("keras.layers", "Lambda", {"function": "f", "arguments": {}}),
    "Lambda of a place inside": part("keras.src.layers.core.lambda_layer", "Lambda"),
    "code": {"class_name": "__lambda__", "config": {"value": "4wEAAAA="}},
    "code, in the older form": {"class_name": "Lambda", "config": {"function": ["4wEAAAA=", 0, 0]}},
    "a type by its name": {
        **part("tensorflow", "__typespec__", []),
        "spec_name": "TypeSpec",
    },
    "a value that names a module": part("os", "__numpy__", {"value": [1], "dtype": "float32"}),
    "a download": part("keras.utils", "get_file", {"origin": "http://127.0.0.1/x"}),
    "a download as a function": part(
        "keras.utils", "function", "get_file", registered_name="function"
    ),
    "a loader": part("keras.models", "load_model", {"filepath": "/srv/x.keras"}),
    "a deserialiser": part("builtins", "function", "deserialize", registered_name="function"),
    "a SavedModel": part("keras.layers", "TFSMLayer", {"filepath": "/srv/x"}),
    "a pickle": part("keras.layers", "TorchModuleWrapper", {"module": "gASVAAAA"}),
    "a pattern that takes for ever": part(
        "keras.optimizers", "Muon", {"learning_rate": 0.1, "exclude_layers": ["(a+)+$"]}
    ),
    "a file of words": part("keras.layers", "StringLookup", {"vocabulary": "/etc/passwd"}),
    "a file of text": part("keras.layers", "TextVectorization", {"vocabulary": "/etc/passwd"}),
    "a registered name": part("keras.layers", "Dense", {"units": 1}, registered_name="os>system"),
    "a class without a module": {"class_name": "Dense", "config": {"units": 1}},
    "a module without a class": {"module": "os", "config": {}},
    "a class whose name is none": part("keras.layers", ["Dense"]),  # type: ignore[arg-type]
    "a class whose configuration is none": part("keras.layers", "Dense", "os.system"),
}


def many_kinds(shape: tuple[int, ...], classes: int) -> keras.Model:
    """Layers in layers, arithmetic between them, and objects where names would do."""
    inputs = layers.Input(shape)
    x = inputs * 2 + keras.ops.mean(inputs, axis=-1, keepdims=True)
    x = layers.Bidirectional(layers.GRU(3))(x[:, 1:4, ...])
    x = layers.BatchNormalization()(x)
    outputs = layers.Dense(
        classes, keras.activations.softmax, kernel_regularizer="l2", kernel_constraint="max_norm"
    )(x)
    return compiled(
        keras.Model(inputs, outputs),
        optimizer=keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(0.1, 10)),
        loss=keras.losses.sparse_categorical_crossentropy,
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)],
    )


def in_a_row(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(
        keras.Sequential(
            [
                layers.Input(shape),
                layers.Flatten(),
                layers.Dense(classes, "softmax", dtype="float32"),
            ]
        )
    )


def normalising(shape: tuple[int, ...], classes: int) -> keras.Model:
    mean, variance = np.zeros(shape[0], "f"), np.ones(shape[0], "f")
    return conv1d(shape, classes, normalise=True, mean=mean, variance=variance)


def written(model: keras.Model) -> bytes:
    return json.dumps(configuration(model)).encode()


@pytest.mark.parametrize("make", [conv1d, conv2d_gru, normalising, small, many_kinds, in_a_row])
def test_a_model_of_kerass_own_classes_is_built_again(make: Any) -> None:
    """Compiled as it was; with the same weights it says the same."""
    model = make((13, 40), 3)
    again = keras.saving.deserialize_keras_object(read_architecture(written(model)))
    restore_weights(again, weights(model))
    windows = np.random.default_rng(0).normal(size=(2, 13, 40)).astype("f")
    np.testing.assert_array_equal(model(windows), again(windows))
    assert model.optimizer.get_config() == again.optimizer.get_config()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (own_class, "no architecture"),
        (counts_batches, "model_zoo.Counts"),
        (own_loss, "model_zoo.OwnLoss"),
        (never_finite_metric, "builtins.nothing"),
    ],
)
def test_a_part_of_the_users_own_is_named(make: Any, named: str) -> None:
    """It is for who calls the function to bring it."""
    with pytest.raises(ForeignPart, match=named):
        read_architecture(written(make(SHAPE, 3)))


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_not_of_keras_or_does_more_than_compute_is_refused(what: str) -> None:
    """At the top, as a layer, as an activation and deep inside of a value."""
    for place in places(written(small(SHAPE, 3))):
        with pytest.raises(ForeignPart):
            read_architecture(json.dumps(place(HOSTILE[what])).encode())


def places(data: bytes) -> Iterator[Any]:
    def top(value: Any) -> Any:
        return value

    def layer(value: Any) -> Any:
        found = json.loads(data)
        found["config"]["layers"][2] = value
        return found

    def activation(value: Any) -> Any:
        found = json.loads(data)
        found["config"]["layers"][2]["config"]["activation"] = value
        return found

    def inside(value: Any) -> Any:
        found = json.loads(data)
        found["compile_config"]["loss_weights"] = [{"x": [[value]]}]
        return found

    yield from (top, layer, activation, inside)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"3",
        b"\xff",
        b'{"a": 1}',
        b"[" * 100_000,
        b'{"a":' * 100 + b"1" + b"}" * 100,
        b'{"a": ' + b"1" * 5000 + b"}",
        b" " * (17 << 20),
    ],
    ids=lambda data: f"{data[:8]!r}, {len(data)} bytes",
)
def test_what_is_no_architecture_is_damaged(data: bytes) -> None:
    """Also what is too deep or too large to be looked at."""
    with pytest.raises(BadArchitecture):
        read_architecture(data)


@cache
def written_small() -> bytes:
    return written(small(SHAPE, 3))


WORDS = [
    "os",
    "os.system",
    "planted",
    "keras.utils",
    "get_file",
    "Lambda",
    "/etc/passwd",
    "l2",
    "x",
]
LEAVES = st.one_of(
    st.sampled_from(list(HOSTILE.values())),
    st.sampled_from(WORDS),
    st.sampled_from([None, True, -1, 0, 2, 1.5, [], {}]),
)


def mutated(value: Any, pick: random.Random, leaf: Any) -> Any:
    """The value with another one at a place somewhere in it, or under a key that it has not."""
    here: Any = value
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return value
        key = pick.choice(keys)
        if isinstance(here[key], dict | list) and here[key] and pick.random() < 0.8:
            here = here[key]
            continue
        if isinstance(here, dict) and pick.random() < 0.2:
            key = pick.choice(["module", "class_name", "registered_name", "config", "filepath"])
        here[key] = leaf
        return value


@settings(max_examples=150, deadline=None)
@given(
    st.randoms(use_true_random=False),
    st.lists(LEAVES, min_size=1, max_size=3),
)
def test_whatever_is_let_through_imports_and_opens_nothing(
    pick: random.Random, changes: list[Any]
) -> None:
    """Keras builds it or says why not; it asks for no module but its own, and for no file."""
    value = json.loads(written_small())
    for leaf in changes:
        value = mutated(value, pick, json.loads(json.dumps(leaf)))
    try:
        value = read_architecture(json.dumps(value).encode())
    except (BadArchitecture, ForeignPart):
        return
    asked: list[str] = []
    load, read = importlib.import_module, builtins.open

    def loading(name: str, *more: Any) -> Any:
        asked.append(name)
        return load(name, *more)

    def reading(file: Any, *more: Any, **names: Any) -> Any:
        asked.append(f"file {file}")
        return read(file, *more, **names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib, "import_module", loading)
        patch.setattr(builtins, "open", reading)
        with suppress(Exception):  # whatever Keras says of it
            keras.saving.deserialize_keras_object(value)
    assert [] == [each for each in asked if each.split(".")[0] != "keras"]
