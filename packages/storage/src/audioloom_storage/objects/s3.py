"""Write to S3: an object appears by a conditional PUT, which a store refuses if the key is taken.

A store that ignores the condition would replace objects, so each connection proves first that the
store refuses. Folders are markers: empty objects whose keys end with a slash, as the consoles of
object stores make them. Until its commit a file is in memory or in an unfinished multipart upload,
which no listing shows.
"""

import os
from contextlib import suppress
from typing import Any

from audioloom_storage import errors
from audioloom_storage.backend.protocol import Backend, Sink
from audioloom_storage.backend.temporary import temporary_beside
from audioloom_storage.location import Location
from audioloom_storage.objects.backend import Objects
from audioloom_storage.objects.connection import connection_to

PART_BYTES = 16 << 20
"""Bytes of a part of an upload; S3 takes 10,000 parts, so a file has at most 156 GiB."""

_MOST_PARTS = 10_000
_TOKEN = "audioloom-writer"  # noqa: S105 - a name in the metadata, which tells our own object
_ONCE_UNLESS_TAKEN: dict[str, Any] = {"again": False, "IfNoneMatch": "*"}


class _S3(Objects):
    def create(self, location: Location, *, private: bool, replication: int | None) -> Sink:
        """Start a file. The bucket decides who may read it, and how many copies it has."""
        if not _has_marker(location.parent):
            raise errors.NotFound("no folder lies there", where=location.parent)
        return _Sink(location)

    def make_folder(self, location: Location, *, private: bool) -> None:
        """Put the markers that are missing; a file on the way is refused.

        The credentials may be for one prefix of the bucket. The folders above it need no marker.
        """
        above, missing = location, list[Location]()
        try:
            while not _has_marker(above):
                with suppress(errors.NotFound, errors.PermissionDenied):
                    _call(above, "head_object")
                    raise errors.NotAFolder("a file lies there", where=above, expected="a folder")
                missing.append(above)
                above = above.parent
        except errors.PermissionDenied:
            if above == location:
                raise
        for folder in reversed(missing):
            try:
                _call(folder, "put_object", key=_marker(folder), Body=b"")
            except errors.PermissionDenied:
                if folder == location:
                    raise
            else:
                connection_to(folder).folders.add(folder.path)

    def remove(self, location: Location, *, within: Location | None) -> None:
        """Delete an object; there are no links."""
        if self.stat(location).is_folder:
            raise errors.IsAFolder("a folder lies there", where=location, expected="a file")
        _call(location, "delete_object")

    def remove_empty_folder(self, location: Location, *, within: Location | None) -> bool:
        """Delete the marker, if nothing else has the prefix."""
        if not self.stat(location).is_folder:
            raise errors.NotAFolder("a file lies there", where=location, expected="a folder")
        marker = _marker(location)
        found = _call(location, "list_objects_v2", key=None, Prefix=marker, MaxKeys=2)
        if [each["Key"] for each in found.get("Contents", ())] != [marker]:
            return False
        connection_to(location).folders.clear()
        _call(location, "delete_object", key=marker)
        return True


class _Sink:
    """A file that becomes an object by one conditional request.

    A repeated request may meet the object that an earlier one has made: the token in its metadata
    tells. Small files wait in memory, larger ones in a multipart upload.
    """

    def __init__(self, target: Location) -> None:
        self._target = target
        self._metadata = {_TOKEN: os.urandom(16).hex()}
        self._buffer = bytearray()
        self._upload: str | None = None
        self._parts: list[dict[str, Any]] = []

    def write(self, data: memoryview) -> int:
        room = PART_BYTES - len(self._buffer)
        self._buffer += data[:room]
        if len(self._buffer) == PART_BYTES:
            self._send_part()
        return min(room, len(data))

    def finish(self) -> None:
        if self._upload is not None and self._buffer:
            self._send_part()

    def commit(self) -> None:
        multipart = self._upload is not None
        _prove(self._target, multipart=multipart)
        request = self._complete if multipart else self._put
        try:
            connection_to(self._target).retry.run(request)
        except (errors.AlreadyExists, errors.NotFound) as error:
            self._raise_unless_ours(error)
        except errors.StorageError as error:
            if not error.unanswered:
                raise
            found = f"the store did not answer the commit: {error.found}"
            raise errors.unknown(found, self._target) from error
        self._upload = None

    def abandon(self) -> None:
        self._buffer.clear()
        upload, self._upload = self._upload, None
        if upload is not None:
            with suppress(errors.StorageError):
                _call(self._target, "abort_multipart_upload", UploadId=upload)

    def _send_part(self) -> None:
        if self._upload is None:
            answer = _call(self._target, "create_multipart_upload", Metadata=self._metadata)
            self._upload = answer["UploadId"]
        number = len(self._parts) + 1
        if number > _MOST_PARTS:
            raise errors.Unavailable(
                "the file is larger than S3 takes in parts",
                where=self._target,
                expected=f"at most {_MOST_PARTS * PART_BYTES} bytes",
            )
        body = bytes(self._buffer)
        part: dict[str, Any] = {"PartNumber": number, "UploadId": self._upload, "Body": body}
        answer = _call(self._target, "upload_part", **part)
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})
        self._buffer.clear()

    def _put(self) -> None:
        whole: dict[str, Any] = {"Body": bytes(self._buffer), "Metadata": self._metadata}
        _call(self._target, "put_object", **_ONCE_UNLESS_TAKEN, **whole)

    def _complete(self) -> None:
        parts = {"Parts": self._parts}
        whole: dict[str, Any] = {"UploadId": self._upload, "MultipartUpload": parts}
        _call(self._target, "complete_multipart_upload", **_ONCE_UNLESS_TAKEN, **whole)

    def _raise_unless_ours(self, error: errors.StorageError) -> None:
        try:
            found = _call(self._target, "head_object")
        except errors.NotFound:
            raise errors.gone(self._target) from error
        except errors.StorageError as blind:
            failed = f"the store failed after the commit: {blind.found}"
            raise errors.unknown(failed, self._target) from error
        if found.get("Metadata", {}).get(_TOKEN) != self._metadata[_TOKEN]:
            raise errors.taken(self._target, is_folder=False) from error


def _prove(target: Location, *, multipart: bool) -> None:
    """Prove once a connection that the store refuses a conditional request for a taken key."""
    request = "complete_multipart_upload" if multipart else "put_object"
    connection = connection_to(target)
    if request in connection.proved:
        return
    probe = temporary_beside(target)
    _call(probe, "put_object", Body=b"")
    sink = _Sink(probe)
    try:
        if multipart:
            sink.write(memoryview(b"probe"))
            sink._send_part()  # noqa: SLF001 - the last part may be short
            sink._complete()  # noqa: SLF001
        else:
            sink._put()  # noqa: SLF001
    except errors.AlreadyExists:
        connection.proved.add(request)
    else:
        raise errors.NotConfigured(
            "this store ignores If-None-Match, so it would replace objects",
            where=target,
            expected=f"an answer 412 to a conditional {request} of a taken key",
            hint="Choose a root on another store, on file:// or on hdfs://.",
        )
    finally:
        sink.abandon()
        with suppress(errors.StorageError):
            _call(probe, "delete_object")


def _has_marker(folder: Location) -> bool:
    connection = connection_to(folder)
    if folder.path == "/" or folder.path in connection.folders:
        return True
    try:
        _call(folder, "head_object", key=_marker(folder))
    except errors.NotFound:
        return False
    connection.folders.add(folder.path)
    return True


def _marker(folder: Location) -> str:
    return folder.path[1:] + "/"


def _call(
    location: Location, method: str, *, key: str | None = "", again: bool = True, **options: Any
) -> Any:
    """Make a request of S3 for a location's key, another key or none, *again* if unanswered."""
    connection = connection_to(location)
    named = options if key is None else {"Key": key or location.path[1:], **options}
    return (connection.call if again else connection.attempt)(
        location, lambda filesystem: filesystem.call_s3(method, Bucket=location.authority, **named)
    )


BACKEND: Backend = _S3()
