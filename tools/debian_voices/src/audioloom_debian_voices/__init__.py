"""Fetches real recordings from Debian's packages to try audioloom with.

Telephone prompts in several languages, one speaker each, taken from packages that are downloaded
and unpacked but never installed.
"""

from audioloom_debian_voices.errors import (
    DebianVoicesError,
    FolderTaken,
    NotVerified,
    PackageUnknown,
    RegistrySilent,
    ToolMissing,
    UnexpectedContent,
)
from audioloom_debian_voices.fetch import fetch
from audioloom_debian_voices.lay_out import Laid, lay_out
from audioloom_debian_voices.packages import DEFAULT_LANGUAGES, PACKAGES

__all__ = [
    "DEFAULT_LANGUAGES",
    "PACKAGES",
    "DebianVoicesError",
    "FolderTaken",
    "Laid",
    "NotVerified",
    "PackageUnknown",
    "RegistrySilent",
    "ToolMissing",
    "UnexpectedContent",
    "fetch",
    "lay_out",
]
