"""Who asks a cluster with Kerberos: by default whoever has a ticket, else by a keytab."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from audioloom_yarn_launcher.errors import NoCommand

GSSAPI_KEYTAB = "KRB5_CLIENT_KTNAME"
"""Where the library that hdfs:// goes by looks for a keytab when there is no ticket."""


@dataclass(frozen=True)
class Login:
    """A keytab, and whom it is of."""

    keytab: str
    principal: str


def read_login(keytab: str | None, principal: str | None) -> Login | None:
    """The login that the flags name, from now on for hdfs:// of this process too; None for none.

    Raises:
        NoCommand: one is given without the other, or there is no such keytab.
    """
    if keytab is None and principal is None:
        return None
    if keytab is None or principal is None:
        raise NoCommand(
            "a keytab and whom it is of belong together",
            expected="both --keytab and --principal",
            found="--principal alone" if keytab is None else "--keytab alone",
        )
    path = Path(keytab).absolute()
    if not os.access(path, os.R_OK):
        raise NoCommand("the keytab cannot be read", where=path, expected="a file that you may")
    os.environ[GSSAPI_KEYTAB] = str(path)
    return Login(str(path), principal)
