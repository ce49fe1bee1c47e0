"""Errors of storage.

A commit that fails has three outcomes, and they never share a name: something was there before
(`AlreadyExists`, `IsAFolder`), nothing was published (`UnknownOutcome` aside, all others: safe to
try again), or nobody can tell (`UnknownOutcome`: look before acting).
"""


class StorageError(Exception):
    """The storage did not do what was asked.

    Args:
        found: the finding, a clause without a full stop.
        where: the location, as people see it.
        expected: the condition that was needed.
        hint: the next steps, in whole sentences.

    Attributes:
        unanswered: it ended a request that was repeated, and one had no answer: that one may have
            been executed.
    """

    unanswered = False

    def __init__(
        self, found: str, *, where: object = "", expected: str = "", hint: str = ""
    ) -> None:
        super().__init__(found)
        self.found = found
        self.where = str(where)
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.found}" if self.where else self.found
        if self.expected:
            text += f" (expected {self.expected})"
        return f"{text}. {self.hint}" if self.hint else text


class NotFound(StorageError, FileNotFoundError):
    """Nothing lies there, or a symbolic link leads nowhere."""


class AlreadyExists(StorageError, FileExistsError):
    """A new file was asked for, and something lies there. It was left as it is."""


class PermissionDenied(StorageError, PermissionError):
    """The entry exists, but this user lacks the permission."""


class NotAFolder(StorageError, NotADirectoryError):
    """A folder was needed, and something else lies there."""


class NotAFile(StorageError):
    """A file was needed, and a pipe, a socket or a device lies there."""


class IsAFolder(NotAFile, IsADirectoryError):
    """A file was needed, and a folder lies there."""


class TooLarge(StorageError):
    """There are more bytes than the caller agreed to read."""


class Unavailable(StorageError, OSError):
    """The storage failed: input/output error, time-out, too many open files. Nothing appeared."""


class NoSpace(Unavailable):
    """The storage is full, or a quota or a size limit is used up. Nothing appeared."""


class UnknownOutcome(StorageError):
    """The storage failed during a commit, which may have landed or may yet land.

    Look at the location before acting. Nothing was deleted.
    """


class UnsafePath(StorageError, ValueError):
    """A path that could leave its folder, or that cannot be written down."""


class UnsupportedScheme(StorageError, ValueError):
    """No storage of that scheme is known here."""


class NotConfigured(StorageError):
    """This machine lacks a package or a configuration that the storage needs."""


_EXTRAS = {"gs": "gcs", "abfs": "azure", "https": "http"}


def not_installed(where: object, package: str) -> NotConfigured:
    """Return the error for a location whose storage needs a package that is not installed."""
    scheme = str(where).partition("://")[0]
    return NotConfigured(
        f"{scheme}:// needs the package {package}, which is not installed",
        where=where,
        hint=f'pip install "audioloom-storage[{_EXTRAS.get(scheme, scheme)}]"',
    )


def taken(target: object, *, is_folder: bool) -> StorageError:
    """Return the error for a target that exists already and was left as it is."""
    if is_folder:
        return IsAFolder("a folder lies there", where=target, expected="a name that is free")
    return AlreadyExists("a file lies there, and none is ever replaced", where=target)


def gone(target: object) -> Unavailable:
    """Return the error for an unfinished file of `target` that was removed; nothing appeared."""
    return Unavailable(
        "the unfinished file is gone, and cannot get its name",
        where=target,
        hint="Check that nothing removes files while they are written (gc), then run again.",
    )


def unknown(found: str, target: object) -> UnknownOutcome:
    """Return the error for a storage that failed while the file got its name."""
    return UnknownOutcome(
        found,
        where=target,
        hint="Check whether it is there, and whose it is, before running again; the same command"
        " looks first, and says that it is done or goes on.",
    )
