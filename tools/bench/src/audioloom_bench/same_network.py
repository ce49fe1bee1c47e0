"""The trainer's light network, in whichever Keras a lane uses."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from audioloom_trainer import networks


def conv1d(keras: Any, shape: tuple[int, ...], classes: int | None) -> Any:
    """`audioloom_trainer.networks:conv1d`, built and compiled by *keras* (Keras 3 or tf_keras)."""
    with patch.object(networks, "keras", keras):
        return networks.conv1d(shape, classes)
