"""Open the root of all runs that a command was given."""

from audioloom_stage import InputMissing
from audioloom_storage import Location, exists, locate

from audioloom_runs.settings import RootSettings


def open_root(settings: RootSettings) -> Location:
    """Locate the root.

    Raises:
        InputMissing: the root does not exist. An empty root is no mistake.
    """
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    return root
