"""Recordings to windows of features, as a stage. `cli` lists the commands.

`write_features` makes features of a DataFrame.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from audioloom_featurizer.dataframes import write_features

__all__ = ["write_features"]


def __getattr__(name: str) -> Any:
    """Import on first use: the package itself costs nothing."""
    if name in __all__:
        from audioloom_featurizer import dataframes  # noqa: PLC0415 - it imports Arrow

        return getattr(dataframes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
