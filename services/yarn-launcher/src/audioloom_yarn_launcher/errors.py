"""The errors of the launcher itself; the failure of a worker is a `Cause`."""

from audioloom_stage.errors import BadConfiguration, BadData, InputMissing, ServiceDown, TryAgain


class StoreLost(ConnectionError):
    """The store is out of reach: a worker that gets this error is alone and ends."""


class NoRun(InputMissing):
    """The folder holds no run."""


class BadRecord(BadData):
    """A record of a run cannot be read."""


class BadArchive(BadData):
    """An environment's archive is damaged, or could write outside of its folder."""


class NoCluster(BadConfiguration):
    """This machine has no Hadoop configuration, or lacks a setting or program to use it."""


class NotOffered(BadConfiguration):
    """The cluster has no such queue, or no node that is large enough."""


class ResourceManagerDown(ServiceDown):
    """No ResourceManager answers."""


class ApplicationLost(TryAgain):
    """The application ended without an explanation, or is out of reach."""


class ApplicationEnded(ApplicationLost):
    """The application was ended on purpose or for its size, so a restart may end the same way."""
