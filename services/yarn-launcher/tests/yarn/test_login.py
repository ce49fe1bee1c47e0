import os
from pathlib import Path

import pytest
from audioloom_stage.errors import Usage
from audioloom_yarn_launcher.yarn.credentials import GSSAPI_KEYTAB, Login, read_login


def test_half_a_login_is_refused() -> None:
    """With what is missing."""
    with pytest.raises(Usage, match="--keytab alone"):
        read_login("me.keytab", None)
    with pytest.raises(Usage, match="--principal alone"):
        read_login(None, "me@EXAMPLE.ORG")


def test_a_keytab_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before a JVM is started that would say so after seconds."""
    with pytest.raises(Usage, match=str(tmp_path / "none")):
        read_login(str(tmp_path / "none"), "me@EXAMPLE.ORG")


def test_a_login_is_that_of_hdfs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose library takes it from a variable; without a login none is set."""
    monkeypatch.delenv(GSSAPI_KEYTAB, raising=False)
    assert read_login(None, None) is None
    assert GSSAPI_KEYTAB not in os.environ
    keytab = tmp_path / "me.keytab"
    keytab.write_bytes(b"")
    monkeypatch.setenv(GSSAPI_KEYTAB, "another")
    assert Login(str(keytab), "me@EXAMPLE.ORG") == read_login(str(keytab), "me@EXAMPLE.ORG")
    assert str(keytab) == os.environ[GSSAPI_KEYTAB]
