"""Failures of fsspec's libraries that tests cannot provoke without an account there."""

from __future__ import annotations

import re

import fsspec
import pytest
from audioloom_storage import (
    NoSpace,
    NotConfigured,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnsafePath,
    list_folder,
    locate,
)
from audioloom_storage.objects.errors import translated
from audioloom_storage.remote.retry import Outage
from botocore.exceptions import ClientError
from s3fs.errors import translate_boto_error


def test_a_store_without_account_names_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """adlfs raises its ValueError around another one, before it asks anybody."""

    def made(**_: object) -> object:
        raise ValueError("unable to connect") from ValueError("neither account nor key")

    monkeypatch.setattr(fsspec, "get_filesystem_class", lambda _: made)
    with pytest.raises(NotConfigured, match=r"neither account nor key.*AZURE_STORAGE_ACCOUNT_NAME"):
        list_folder(locate("abfs://no-account/x"))


def test_a_refused_login_is_no_outage() -> None:
    """azure.identity has a class of its own, without a status."""

    class ClientAuthenticationError(Exception):
        pass

    error = translated(ClientAuthenticationError("no token"), locate("abfs://container/x"))
    assert isinstance(error, PermissionDenied)
    assert "AZURE_STORAGE_CONNECTION_STRING" in str(error)


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        ("ExpiredToken", PermissionDenied, "AWS_PROFILE"),
        ("InvalidToken", PermissionDenied, "AWS_PROFILE"),
        ("TokenRefreshRequired", PermissionDenied, "AWS_PROFILE"),
        ("400", Unavailable, "whether a token has expired.*AWS_PROFILE"),
        ("EntityTooLarge", NoSpace, "said so"),
        ("KeyTooLongError", UnsafePath, "said so"),
        ("RequestTimeout", Outage, "run again"),
        ("InvalidArgument", Unavailable, "said so"),
    ],
)
def test_a_bad_request_has_many_causes(code: str, kind: type[StorageError], told: str) -> None:
    """S3 answers 400 to all of these; to a HEAD, without a word."""
    answer = {
        "Error": {"Code": code, "Message": "said so"},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    failure = translate_boto_error(ClientError(answer, "HeadObject"))  # type: ignore[arg-type]
    error = translated(failure, locate("s3://bucket/x"))
    assert kind is type(error)
    assert re.search(told, str(error))
