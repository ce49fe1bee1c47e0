"""Which variables of a model are what: trained, random state, normalisation, metrics, the rest."""

from __future__ import annotations

from typing import Any

import keras

from audioloom_trainer.models.keras_compat import normalisations


def seed_state(model: keras.Model) -> list[Any]:
    """The states of the random generators of Keras 3, such as Dropout's; tf_keras has none."""
    return [v for v in model.variables if v.name == "seed_generator_state"]


def other_state(model: keras.Model) -> list[Any]:
    """What training may change beside trained weights, seeds and batch normalisation."""
    known = {id(v) for v in (*model.trainable_variables, *seed_state(model), *metric_state(model))}
    for layer in normalisations(model):
        known |= {id(v) for v in layer.variables}
    return [v for v in model.weights if id(v) not in known]


def metric_state(model: keras.Model) -> list[Any]:
    """The states of the model's metrics."""
    return [variable for metric in model.metrics for variable in metric.variables]
