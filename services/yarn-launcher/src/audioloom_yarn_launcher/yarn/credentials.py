"""The credentials for a cluster: this user's key for skein, and the login by a keytab.

The holder of the key controls this user's applications. The key is valid from a day before its
creation, because a node whose clock is slow would refuse a younger one.
"""

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from audioloom_stage.errors import Usage

VALID = timedelta(days=365)
BACKDATED = timedelta(days=1)
RENEW_BEFORE = timedelta(days=30)
_LOCK = "audioloom.lock"
_NAME = "skein-internal"
"""The name that skein's Java programs have and expect."""
GSSAPI_KEYTAB = "KRB5_CLIENT_KTNAME"
"""The variable in which the library of hdfs:// finds a keytab, if there is no ticket."""


@dataclass(frozen=True)
class Life:
    """The validity of a certificate."""

    begins: datetime
    ends: datetime

    def is_good(self, now: datetime) -> bool:
        """Return whether it is valid now and for a month, on clocks that are wrong by hours too."""
        return self.begins + BACKDATED <= now and now + RENEW_BEFORE <= self.ends


def own_key(skein: Any) -> Any:
    """Return this user's key, a `skein.Security` from files that only this user can read.

    One is made if there is none, it expires soon or cannot be read; by one process of several.
    """
    folder = Path(skein.properties.config_dir)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):
        folder.chmod(0o700)
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = _read(skein, folder)
        if found is None:
            found = mint(skein, datetime.now(UTC))
            found.to_directory(str(folder), force=True)
        return found


def _read(skein: Any, folder: Path) -> Any:
    # As bytes: another process may replace the files at any moment.
    try:
        found = skein.Security(
            cert_bytes=(folder / "skein.crt").read_bytes(),
            key_bytes=(folder / "skein.pem").read_bytes(),
        )
        return found if life_of(found).is_good(datetime.now(UTC)) else None
    except (OSError, ValueError):
        return None


def life_of(security: Any) -> Life:
    """Read the validity of a key; ValueError if it is no key."""
    from cryptography import x509  # noqa: PLC0415 - skein needs it too

    certificate = x509.load_pem_x509_certificate(security._get_bytes("cert"))  # noqa: SLF001
    return Life(certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def mint(skein: Any, now: datetime) -> Any:
    """Make a key in memory as skein does, except for the start of its validity."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + VALID)
        .sign(key, hashes.SHA256())
    )
    return skein.Security(
        cert_bytes=certificate.public_bytes(serialization.Encoding.PEM),
        key_bytes=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


@dataclass(frozen=True)
class Login:
    """A keytab and its principal."""

    keytab: str
    principal: str


def read_login(keytab: str | None, principal: str | None) -> Login | None:
    """Read the login that the flags name; hdfs:// of this process uses it too. None without flags.

    Usage if one flag is given without the other, or the keytab cannot be read.
    """
    if keytab is None and principal is None:
        return None
    if keytab is None or principal is None:
        raise Usage(
            "a keytab needs its principal",
            expected="both --keytab and --principal",
            found="--principal alone" if keytab is None else "--keytab alone",
        )
    path = Path(keytab).absolute()
    if not os.access(path, os.R_OK):
        raise Usage("the keytab cannot be read", where=path, expected="a file that you may read")
    os.environ[GSSAPI_KEYTAB] = str(path)
    return Login(str(path), principal)
