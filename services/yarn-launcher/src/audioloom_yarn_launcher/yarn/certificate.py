"""This user's key for skein: whoever has it may order this user's applications about.

Its life begins a day before it is made: a node whose clock is behind would refuse a younger one.
"""

from __future__ import annotations

import fcntl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

VALID = timedelta(days=365)
BACKDATED = timedelta(days=1)
RENEW_BEFORE = timedelta(days=30)
_LOCK = "audioloom.lock"
_NAME = "skein-internal"
"""What skein's Java programs call themselves, and look for."""


@dataclass(frozen=True)
class Life:
    """From when to when a certificate counts."""

    begins: datetime
    ends: datetime

    def is_good(self, now: datetime) -> bool:
        """Whether clocks that are wrong by hours take it, now and for a month."""
        return self.begins + BACKDATED <= now and now + RENEW_BEFORE <= self.ends


def own_key(skein: Any) -> Any:
    """The key, made at first use, and anew before it expires or where it cannot be read.

    Of several processes that find none at once, one makes it.

    Args:
        skein: the module.

    Returns:
        A `skein.Security` of what lies in files that nobody else can read.
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
    """What lies there, if it is good. As bytes: files may be another pair a moment later."""
    try:
        found = skein.Security(
            cert_bytes=(folder / "skein.crt").read_bytes(),
            key_bytes=(folder / "skein.pem").read_bytes(),
        )
        return found if life_of(found).is_good(datetime.now(UTC)) else None
    except (OSError, ValueError):
        return None


def life_of(security: Any) -> Life:
    """From when to when a key counts.

    Raises:
        ValueError: it is none.
    """
    from cryptography import x509  # noqa: PLC0415 - skein needs it too

    certificate = x509.load_pem_x509_certificate(security._get_bytes("cert"))  # noqa: SLF001
    return Life(certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def mint(skein: Any, now: datetime) -> Any:
    """A new key, which is on no disk yet: as skein makes them, but for when its life begins."""
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
