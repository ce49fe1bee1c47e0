"""What can go wrong in the launcher itself. What goes wrong in a worker is a `Cause`.

* StoreLost       (ConnectionError)        the other end of the gang's key-value store is gone
* StageError
  - NoCommand     (stage: Usage)           there is nothing to run, or no such program
  - OtherCommand  (stage: NameTaken)       the run of that name belongs to another command
  - Busy          (stage: TryAgain)        another launcher is at work on this run
  - OwnerUnknown  (stage: TryAgain)        nobody here can tell whether the other launcher lives
  - NoRun         (stage: InputMissing)    no run lies there
  - NothingToEnd  (stage: InputMissing)    the run is over, or nobody can be told to end it
  - NoEnvironment (stage: InputMissing)    no archive lies there that a node could unpack
  - BadArchive    (stage: BadData)         an environment's archive is damaged, or leads out
  - NoJob         (stage: InputMissing)    there is no such job file
  - BadJob        (stage: BadConfiguration)    a job file says what makes no sense
  - BadRecord     (stage: BadData)         a record of a run cannot be read
  - NoCluster     (stage: BadConfiguration)    this machine knows of no Hadoop cluster
  - NotOffered    (stage: BadConfiguration)    the cluster has no such queue, or no such node
  - NotAllowed    (stage: NoPermission)    the cluster does not let this user
  - ResourceManagerDown (stage: ServiceDown)   no ResourceManager answers
  - FileSystemDown      (stage: ServiceDown)   the file system that YARN works with does not
  - NotStarted          (stage: TryAgain)  the application was not started in time
  - ApplicationLost     (stage: TryAgain)  the application ended, or is out of reach, unexplained
  - ApplicationEnded    (stage: TryAgain)  it was ended, and another would be, too
"""

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
    """The store cannot be reached any more: a worker that sees this is alone and ends."""


class NoCommand(Usage):
    """There is nothing to run, or no such program."""


class OtherCommand(NameTaken):
    """The run of that name belongs to another command. Nothing was touched."""


class Busy(TryAgain):
    """Another launcher is at work on this run."""


class OwnerUnknown(TryAgain):
    """Another launcher began this run and did not end it, and nobody here can tell if it lives."""


class NoRun(InputMissing):
    """No run lies there."""


class NoJob(InputMissing):
    """There is no such job file."""


class BadJob(BadConfiguration):
    """A job file cannot be read, or says what makes no sense."""


class BadRecord(BadData):
    """A record of a run cannot be read."""


class BadArchive(BadData):
    """An environment's archive is damaged, or would write outside of its folder."""


class NothingToEnd(InputMissing):
    """The run is over, or its launcher cannot be told to end it from here."""


class NoEnvironment(InputMissing):
    """No archive of an environment lies there that a node could unpack."""


class NoCluster(BadConfiguration):
    """This machine knows of no Hadoop cluster, or cannot talk to it: something is not set."""


class NotOffered(BadConfiguration):
    """The cluster has no such queue, or no node with that much."""


class NotAllowed(NoPermission):
    """The cluster does not let this user do that."""


class ResourceManagerDown(ServiceDown):
    """No ResourceManager answers."""


class FileSystemDown(ServiceDown):
    """The file system that YARN itself works with does not answer."""


class ApplicationLost(TryAgain):
    """The application ended before it could say why, or it is out of reach."""


class NotStarted(TryAgain):
    """YARN did not start the application master in time."""


class ApplicationEnded(ApplicationLost):
    """The application was ended on purpose, by somebody or for its size: so may the next be."""
