"""Commit on file://: a move that cannot replace, by the first method that the file system knows."""

# No pathlib: it cannot link without following, nor sync a folder.
# ruff: noqa: PTH104, PTH108

import ctypes
import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress

from audioloom_storage.backend.temporary import temporary_beside
from audioloom_storage.errors import StorageError, Unavailable, UnknownOutcome, gone, taken, unknown
from audioloom_storage.local.errors import is_refusal, translated, translating
from audioloom_storage.location import Location

_UNSUPPORTED = (errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_CLAIM_TOKEN = "0" * 16  # equal for every writer
CLAIM_SECONDS = 2.0


def commit(temporary: Location, target: Location) -> None:
    """Give the file its name without replacing anything."""
    with translating(temporary):
        before = os.lstat(temporary.path)
    for way in WAYS:
        try:
            if not way(temporary, target):
                continue
        except StorageError:
            raise
        except OSError as error:
            _judge(error, before, target)
        break
    else:
        raise Unavailable(
            "this file system knows no way to name a file without replacing another",
            where=target,
            hint="Choose a folder on another file system.",
        )
    with suppress(OSError):  # landed: at worst a second name is left for gc to find
        os.unlink(temporary.path)
    try:
        keep_names(target.parent)
    except OSError as error:
        raise _unknown(error, target) from error


def keep_names(folder: Location) -> None:
    """Force the names in a folder to disk, where the file system can do that."""
    try:
        descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return  # a folder that one may write to but not read
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EROFS):
            raise
    finally:
        os.close(descriptor)


# Each way returns False where the file system does not know it.


def _by_link(temporary: Location, target: Location) -> bool:
    """Hard link: everywhere but on FAT, exFAT and some network and user-space file systems."""
    try:
        os.link(temporary.path, target.path, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EMLINK, *_UNSUPPORTED):
            return False
        raise
    return True


def _by_rename(temporary: Location, target: Location) -> bool:
    """Rename with Linux's flag that refuses to replace: FAT, exFAT, NTFS and SMB know it."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):  # not Linux, or a C library older than the call
        return False
    paths = os.fsencode(temporary.path), os.fsencode(target.path)
    if rename(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_NOREPLACE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


def _by_claim(temporary: Location, target: Location) -> bool:
    """Rename plainly while holding the claim, a file next to the target that only one can make.

    On such a file system every writer takes the claim, so none replaces another's file. A writer
    that dies here leaves its claim: the name stays free, and is usable once gc has seen the claim.
    """
    claim = temporary_beside(target, _CLAIM_TOKEN).path
    deadline = time.monotonic() + CLAIM_SECONDS
    while True:
        try:
            os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
            break
        except FileExistsError:
            if os.path.lexists(target.path):
                raise
            if time.monotonic() > deadline:
                raise Unavailable(
                    "another writer is about to publish here, or died on the way",
                    where=target,
                    hint=f"If none is running, remove {claim} and run again.",
                ) from None
        time.sleep(0.01)
    try:
        if os.path.lexists(target.path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        os.rename(temporary.path, target.path)
    finally:
        os.unlink(claim)
    return True


WAYS: tuple[Callable[[Location, Location], bool], ...] = (_by_link, _by_rename, _by_claim)


def _judge(error: OSError, before: os.stat_result, target: Location) -> None:
    """Interpret an error of a method. Returns when the file has its name all the same."""
    try:
        found = os.lstat(target.path)
    except OSError as blind:
        if error.errno == blind.errno == errno.ENOENT:
            raise gone(target) from error
        if is_refusal(error) and is_refusal(blind):
            raise translated(error, target) from error
        raise _unknown(error, target) from error
    if os.path.samestat(before, found):
        return  # a network file system repeats a request whose answer was lost, and gets a refusal
    raise taken(target, is_folder=stat.S_ISDIR(found.st_mode)) from error


def _unknown(error: OSError, target: Location) -> UnknownOutcome:
    return unknown(f"the file system failed while the file got its name: {error.strerror}", target)
