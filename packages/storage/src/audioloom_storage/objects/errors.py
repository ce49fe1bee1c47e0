"""Errors of fsspec's libraries as errors of this package, without importing any of them."""

import errno
import re
from http import HTTPStatus
from typing import Any

from audioloom_storage.errors import (
    AlreadyExists,
    NoSpace,
    NotConfigured,
    NotFound,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnsafePath,
)
from audioloom_storage.location import Location
from audioloom_storage.remote.retry import Busy, Outage

_SHOWN_LETTERS = 200
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the role of this machine",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or the account of this machine",
    "abfs": "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN,"
    " or AZURE_STORAGE_CONNECTION_STRING",
    "http": "no credentials are sent",
    "https": "no credentials are sent",
}

_BY_STATUS: dict[int, type[StorageError]] = {
    401: PermissionDenied,
    403: PermissionDenied,
    404: NotFound,
    408: Outage,
    409: Busy,  # a conditional write meets another one (S3)
    410: NotFound,
    412: AlreadyExists,
    414: UnsafePath,
    425: Busy,
    429: Busy,
    501: NotConfigured,
    503: Busy,
    507: NoSpace,
}
_SERVER_ERRORS = range(500, 600)

_BY_NUMBER: dict[int | None, type[StorageError]] = {
    errno.EBUSY: Busy,
    errno.ENAMETOOLONG: UnsafePath,
    errno.EMSGSIZE: NoSpace,
    errno.ENOSYS: NotConfigured,
    errno.EREMOTEIO: Outage,
    errno.EPERM: PermissionDenied,
}


_HINTS: dict[type[StorageError], str] = {
    PermissionDenied: "Check the permissions of the account, and its credentials: {credentials}.",
    Outage: "Check the address and run again.",
    Busy: "Run again later.",
}
_WITHOUT_REASON = (
    "The store gives no reason. Check first whether a token has expired, and the region:"
    " {credentials}."
)
_ONE_MEANING: dict[type[StorageError], str] = {
    NotFound: "nothing lies there",
    AlreadyExists: "a file lies there, and none is ever replaced",
}

_BY_CLASS: tuple[tuple[type[Exception], type[StorageError]], ...] = (
    (FileNotFoundError, NotFound),
    (FileExistsError, AlreadyExists),
    (PermissionError, PermissionDenied),
    (TimeoutError, Outage),
    (ConnectionError, Outage),
)
_BY_NAME = (
    (re.compile("Authentication|Credential|Token"), PermissionDenied),
    (re.compile("Connect|Timeout|Disconnected|DNS"), Outage),
)


def translated(error: BaseException, location: Location) -> StorageError:
    """Return a failure of a library as an error of this package that names *location*."""
    if isinstance(error, StorageError):
        return error
    cause = error  # fsspec's HTTP reports every failure as a file that is not found
    while isinstance(cause, FileNotFoundError) and cause.__cause__ is not None:
        cause = cause.__cause__
    kind = _kind(cause)
    found = _ONE_MEANING.get(kind) or _said(cause)
    told = _WITHOUT_REASON if _code(cause) == "400" else _HINTS.get(kind, "")
    hint = told.format(credentials=_CREDENTIALS[location.scheme])
    return kind(f"no answer: {found}" if kind is Outage else found, where=location, hint=hint)


def without_account(error: ValueError, location: Location) -> NotConfigured:
    """Return the error for a library that finds no account, or a setting that it cannot read."""
    return NotConfigured(
        f"{location.scheme}:// is not set up: {_said(error.__cause__ or error)}",
        where=location,
        expected=f"in the environment: {_CREDENTIALS[location.scheme]}",
    )


def _kind(error: BaseException) -> type[StorageError]:
    status = _status(error)
    if status is not None and status != HTTPStatus.BAD_REQUEST:  # S3's for an expired token, too
        return _BY_STATUS.get(status, Outage if status in _SERVER_ERRORS else Unavailable)
    found = [kind for base, kind in _BY_CLASS if isinstance(error, base)]
    names = " ".join([_code(error), *(base.__name__ for base in type(error).__mro__)])
    found += [kind for name, kind in _BY_NAME if name.search(names)]
    if isinstance(error, OSError):
        found.append(_BY_NUMBER.get(error.errno, Unavailable))
    return found[0] if found else Unavailable


def _status(error: BaseException) -> int | None:
    """The HTTP status, where the library keeps it."""
    found = _answer(error).get("ResponseMetadata", {}).get("HTTPStatusCode")
    if isinstance(found, int):
        return found
    for each in (error, error.__cause__):
        for name in ("status", "status_code", "code"):
            found = getattr(each, name, None)
            if isinstance(found, int) and 400 <= found < 600:  # noqa: PLR2004 - of HTTP
                return found
    return None


def _code(error: BaseException) -> str:
    """S3's word for a failure; the status where it says none, as to a HEAD."""
    return str(_answer(error).get("Error", {}).get("Code", ""))


def _answer(error: BaseException) -> dict[str, Any]:
    """What botocore keeps of an answer; its error is the cause of s3fs's."""
    for each in (error, error.__cause__):
        response: Any = getattr(each, "response", None)
        if isinstance(response, dict):
            return response
    return {}


def _said(error: BaseException) -> str:
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    return text.strip().partition("\n")[0].rstrip(".")[:_SHOWN_LETTERS] or type(error).__name__
