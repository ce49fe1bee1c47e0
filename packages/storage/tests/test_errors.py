from __future__ import annotations

import inspect
import pickle

import pytest
from audioloom_storage import StorageError, errors

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, StorageError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_errors_cross_processes(kind: type[StorageError]) -> None:
    """A worker's error arrives whole: the default pickling of such classes fails on arrival."""
    error = kind("broken", where="/a", expected="whole", hint="Mend it.")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert kind is type(again)
    assert vars(error) == vars(again)
    assert "/a: broken (expected whole). Mend it." == str(error) == str(again)
