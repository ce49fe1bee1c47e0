"""Failures of fsspec's libraries that tests cannot provoke without an account there."""

from __future__ import annotations

import fsspec
import pytest
from audioloom_storage import NotConfigured, PermissionDenied, list_folder, locate
from audioloom_storage.objects.errors import translated


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
