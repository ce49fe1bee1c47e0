"""Translate Hadoop's errors, a Java class and a text, into errors of this package."""

from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    NoSpace,
    NotAFolder,
    NotConfigured,
    NotFound,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnsafePath,
)
from audioloom_storage.location import Location
from audioloom_storage.remote.delegation_tokens import refused
from audioloom_storage.remote.retry import Busy, Outage


class CopiesRefused(NotConfigured):
    """The cluster keeps neither so few nor so many copies of a block."""


_ACCESS = "Run as a user who may, or ask its owner for access."
NEEDS_IDENTITY = (
    "Get a ticket (kinit), or name a file of delegation tokens in HADOOP_TOKEN_FILE_LOCATION."
)
_QUOTA = "Ask for a larger quota or choose another folder, then run again."
_LATER = "Wait until the NameNode is at work (hdfs dfsadmin -safemode get), then run again."
_FAILURE = (Unavailable, "See the log of the NameNode, then run again.")

_COPIES = "copies"  # no class of Hadoop's, which raises IOException

# By the last part of the class's name. All but the Outages mean that nothing was done.
_REFUSALS: dict[str, tuple[type[StorageError], str]] = {
    "FileNotFoundException": (NotFound, "Check the path."),
    "PathIsNotDirectoryException": (NotAFolder, "Choose another folder."),
    "ParentNotDirectoryException": (NotAFolder, "Choose another folder."),
    "PathIsNotEmptyDirectoryException": (IsAFolder, "Name a file in it."),
    "FileAlreadyExistsException": (AlreadyExists, "Nothing was replaced."),
    "AlreadyBeingCreatedException": (AlreadyExists, "Nothing was replaced."),
    "AccessControlException": (PermissionDenied, _ACCESS),
    "AuthorizationException": (PermissionDenied, _ACCESS),
    "SecurityException": (PermissionDenied, NEEDS_IDENTITY),
    "AuthenticationException": (PermissionDenied, NEEDS_IDENTITY),
    "SaslException": (PermissionDenied, NEEDS_IDENTITY),
    "QuotaExceededException": (NoSpace, _QUOTA),
    "NSQuotaExceededException": (NoSpace, _QUOTA),
    "DSQuotaExceededException": (NoSpace, _QUOTA),
    "QuotaByStorageTypeExceededException": (NoSpace, _QUOTA),
    "MaxDirectoryItemsExceededException": (NoSpace, "Choose another folder, then run again."),
    "PathComponentTooLongException": (UnsafePath, "Choose a shorter name."),
    "InvalidPathException": (UnsafePath, "HDFS holds no names with a colon: choose another."),
    # A DataNode reports over HTTP that it has lost its NameNode, which may or may not have acted.
    **dict.fromkeys(
        ("ConnectException", "EOFException", "SocketException", "SocketTimeoutException"),
        (Outage, "Check that the NameNode runs, then run again."),
    ),
    _COPIES: (
        CopiesRefused,
        "Set dfs.replication between dfs.namenode.replication.min and dfs.replication.max of the"
        " cluster, or write by hdfs://, which takes the usual number instead.",
    ),
    "SafeModeException": (Busy, _LATER),
    "StandbyException": (Busy, "Name the nameservice (hdfs://NAMESERVICE/…), or the active one."),
    "RetriableException": (Busy, _LATER),
    "ServerTooBusyException": (Busy, _LATER),
}


# Where Hadoop's own words say less, or name the temporary file.
_BETTER_SAID = {
    "FileNotFoundException": "nothing lies there",
    "PathComponentTooLongException": "the name is longer than the cluster allows",
    "InvalidPathException": "this is no name for HDFS",
    "ParentNotDirectoryException": "a file stands where a folder should",
    "PathIsNotDirectoryException": "a file stands where a folder should",
}


def translated(java_class: str, text: str, location: Location, *, looking: bool) -> StorageError:
    """Return the refusal of a NameNode or a gateway as an error of this package.

    The Java class may come with its package, and the text with Hadoop's stack trace. Where one was
    *looking* for something, a parent that is no folder means "not found".
    """
    name = java_class.replace("$", ".").rpartition(".")[2]
    said = text.strip().partition("\n")[0].strip().rstrip(".")
    if name == "SafeModeException" or "is in safe mode" in said:
        return Busy("the NameNode is in safe mode", where=location, hint=_LATER)
    if said.startswith(("Failed to find datanode", "No active nodes contain this block")):
        # After a start of the NameNode, until the DataNodes have reported their blocks.
        return Busy("the NameNode knows of no DataNode yet", where=location, hint=_LATER)
    if said.endswith("(is not a directory)"):
        name = "ParentNotDirectoryException"  # some calls raise AccessControlException for it
    if said.startswith("Requested replication factor of"):
        name = _COPIES
    if looking and name == "ParentNotDirectoryException":
        return NotFound("a file stands where a folder should", where=location)
    if name == "FileAlreadyExistsException" and "not a directory" in said:
        return NotAFolder("no folder lies there", where=location)
    if name == "InvalidToken":
        return refused(said, location)
    kind, hint = _REFUSALS.get(name, _FAILURE)
    return kind(_BETTER_SAID.get(name, said or name), where=location, hint=hint)
