"""The check of an archive before nodes unpack it."""

import gzip
import re
import stat as kinds
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import structlog
from audioloom_storage import Location, StorageError, is_own, open_read

from audioloom_yarn_launcher.errors import BadArchive
from audioloom_yarn_launcher.yarn.archive_members import first_fault

PACKED_BY_US = re.compile(r"[0-9a-f]{64}(?:\.[0-9]+)?\.tar\.gz")
_CHUNK_BYTES = 1 << 20

log = structlog.get_logger()


def check_members(archive: Location) -> None:
    """Refuse an archive that is damaged, or would write outside of its folder: BadArchive.

    An archive that this program packed, by its name, and that only this user can write is trusted
    unread: it may be large.
    """
    if PACKED_BY_US.fullmatch(archive.name) and is_own(archive):
        return
    log.info("looking into the archive", archive=str(archive))
    try:
        with open_read(archive) as file:
            fault = first_fault(_members(archive.name, file))
    except StorageError:
        raise
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        OSError,
        ValueError,
        zlib.error,
    ) as error:
        raise BadArchive(
            "the archive cannot be read to its end",
            where=archive,
            found=str(error) or type(error).__name__,
            hint="Make it again: env pack, or conda-pack.",
        ) from error
    if fault is not None:
        raise BadArchive(
            "the archive would write outside of its folder",
            where=archive,
            expected="names and links that stay within it",
            found=fault,
            hint="Make it again with a tool that you trust: env pack, or conda-pack.",
        )


def _members(name: str, file: BinaryIO) -> Iterator[tarfile.TarInfo]:
    if name.endswith(".zip"):
        yield from _of_zip(file)
        return
    with gzip.open(file) as unzipped:
        with tarfile.open(fileobj=unzipped, mode="r|") as tar:
            yield from tar
        while unzipped.read(_CHUNK_BYTES):  # read to the end, where the checksum is
            pass


def _of_zip(file: BinaryIO) -> Iterator[tarfile.TarInfo]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            member = tarfile.TarInfo(info.filename)
            if kinds.S_ISLNK(info.external_attr >> 16):
                member.type = tarfile.SYMTYPE
                member.linkname = archive.read(info).decode("utf-8", "replace")
            elif info.is_dir():
                member.type = tarfile.DIRTYPE
            yield member
