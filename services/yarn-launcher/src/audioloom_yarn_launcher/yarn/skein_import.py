"""The import of skein, as late as possible: it takes half a second and prints a warning."""

import warnings
from typing import Any


def import_skein() -> Any:
    """Import `skein` with the submodules that are used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it imports distutils
        import skein  # noqa: PLC0415
        import skein.exceptions  # noqa: PLC0415
        import skein.kv  # noqa: PLC0415
    return skein
