"""The errors of the launcher itself; the failure of a worker is a `Cause`."""

from audioloom_stage import (
    BadConfiguration,
    BadData,
    InputMissing,
    NameTaken,
    NoPermission,
    ServiceDown,
    TryAgain,
    Usage,
)


class StoreLost(ConnectionError):
    """The store is out of reach: a worker that gets this error is alone and ends."""


class NoCommand(Usage):
    """The run has no command, or the program does not exist."""


class OtherCommand(NameTaken):
    """The run of that name belongs to another command; nothing was changed."""


class Busy(TryAgain):
    """Another launcher is at work on this run."""


class OwnerUnknown(TryAgain):
    """The run has an unfinished attempt, and nobody here can tell if its launcher lives."""


class NoRun(InputMissing):
    """The folder holds no run."""


class NoJob(InputMissing):
    """The job file does not exist."""


class BadJob(BadConfiguration):
    """A job file cannot be read, or is not valid."""


class BadRecord(BadData):
    """A record of a run cannot be read."""


class BadArchive(BadData):
    """An environment's archive is damaged, or would write outside of its folder."""


class NothingToEnd(InputMissing):
    """The run is over, or its launcher cannot be reached from here."""


class NoEnvironment(InputMissing):
    """The location holds no archive of an environment that a node could unpack."""


class NoCluster(BadConfiguration):
    """This machine has no Hadoop configuration, or lacks a setting or program to use it."""


class NotOffered(BadConfiguration):
    """The cluster has no such queue, or no node that is large enough."""


class NotAllowed(NoPermission):
    """The cluster does not permit the request to this user."""


class ResourceManagerDown(ServiceDown):
    """No ResourceManager answers."""


class FileSystemDown(ServiceDown):
    """The default file system of YARN does not answer."""


class ApplicationLost(TryAgain):
    """The application ended without an explanation, or is out of reach."""


class NotStarted(TryAgain):
    """YARN did not start the application master in time."""


class ApplicationEnded(ApplicationLost):
    """The application was ended on purpose or for its size, so a restart may end the same way."""
