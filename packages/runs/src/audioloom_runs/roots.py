"""The root of all runs, as a command was given it."""

from audioloom_stage import InputMissing
from audioloom_storage import Location, exists, locate

from audioloom_runs.settings import RootSettings


def open_root(settings: RootSettings) -> Location:
    """Locate the root.

    Raises:
        InputMissing: nothing lies there. An empty root is no mistake, and one that is missing is.
    """
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    return root
