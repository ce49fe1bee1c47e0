"""Which variables of a model are what: trained, random state, normalisation, metrics, the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

__all__ = ["all_layers", "metric_state", "other_state", "seed_state"]


def all_layers(model: keras.Model) -> Iterator[keras.layers.Layer]:
    """Every layer, at any depth, also those that a layer of the user's own holds."""
    yield from model._flatten_layers(include_self=False)  # noqa: SLF001  no public way sees them all


def seed_state(model: keras.Model) -> list[Any]:
    """The states of the model's random generators, such as Dropout's."""
    return [v for v in model.variables if v.name == "seed_generator_state"]


def other_state(model: keras.Model) -> list[Any]:
    """What training may change beside trained weights, seeds and batch normalisation."""
    known = {id(v) for v in (*model.trainable_variables, *seed_state(model), *metric_state(model))}
    for layer in all_layers(model):
        if isinstance(layer, keras.layers.BatchNormalization):
            known |= {id(v) for v in layer.variables}
    return [v for v in model.weights if id(v) not in known]


def metric_state(model: keras.Model) -> list[Any]:
    """The states of the model's metrics."""
    return [variable for metric in model.metrics for variable in metric.variables]
