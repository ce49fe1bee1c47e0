"""Which Debian package holds which language."""

from types import MappingProxyType
from typing import Final

_LANGUAGES: Final = ("en", "es", "fr", "it", "ru")
PACKAGES: Final = MappingProxyType(
    {lang: f"asterisk-core-sounds-{lang}-wav" for lang in _LANGUAGES}
)

# Three speakers; es is spoken by the same actor as en.
DEFAULT_LANGUAGES: Final = ("en", "fr", "ru")
