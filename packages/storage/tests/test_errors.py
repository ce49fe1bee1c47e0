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


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_names_every_error(kind: type[StorageError]) -> None:
    """The map at the top of the module is complete, with the builtin bases."""
    tree = (errors.__doc__ or "").partition("\n\n")[2]
    (line,) = (line for line in tree.splitlines() if line.strip(" *-").startswith(kind.__name__))
    builtin = [base.__name__ for base in kind.__bases__ if base.__module__ == "builtins"]
    assert all(f"({name})" in line for name in builtin if name != "Exception")


def test_short_errors_are_short() -> None:
    """What is not known is not said."""
    assert "broken" == str(StorageError("broken"))
    assert "/a: broken" == str(StorageError("broken", where="/a"))
