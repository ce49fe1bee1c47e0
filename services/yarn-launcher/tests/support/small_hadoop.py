"""A configuration of Hadoop that consists of a few values, without a daemon that answers."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any


def small_hadoop(values: Mapping[str, str]) -> Any:
    """A `Hadoop` with these values alone."""
    return SimpleNamespace(pages=(), value=lambda name: values.get(name, ""))
