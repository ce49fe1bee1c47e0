"""What of a command is secret: masked wherever the command is shown, recorded or passed about.

By names alone (`--password=x`, `-Dstore.secret.key=x`, `--api-key x`, `HF_TOKEN=x`), by the form of
an address with a password in it, and of an Authorization header. A secret that says nothing of
itself is not known for one: variables (`run --env NAME`) are the place for those.

The workers get what was masked beside the masked command, in a variable that they keep from it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence

MASK = "**********"
VARIABLE = "AUDIOLOOM_RUN_SECRETS"
"""For workers: what the masked words are, by their place in the command, as JSON in base64.

YARN writes variables into a script of shell as they are: no quote or dollar may be in this one.
"""

_NAME = (
    r"[\w.-]*(?:passw(?:or)?d|passphrase|secret|credential|api[-_.]?key|access[-_.]?key"
    r"|private[-_.]?key|signing[-_.]?key|encryption[-_.]?key)[\w.-]*"
    r"|(?:[\w.-]*[-_.])?(?:token|pass|pwd)"
)
_ASSIGNED = re.compile(rf"(?<![\w.-])(-*(?:{_NAME}))(\s*[=:]\s*)([^\s&;,]+)", re.IGNORECASE)
_QUOTED = re.compile(
    rf"""(["'])({_NAME})\1(\s*[=:]\s*)(["'])(?:\\.|(?!\4).)*\4""", re.IGNORECASE | re.DOTALL
)
_FLAG = re.compile(rf"--?(?:{_NAME})", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?<=://)([^\s/@:]*):[^\s/]+@")
_HEADER = re.compile(r"(authorization\s*[:=]\s*).+", re.IGNORECASE | re.DOTALL)
_COST = {"n": 1 << 14, "r": 8, "p": 1}


def redact(command: Sequence[str]) -> tuple[str, ...]:
    """The command with all that is secret masked; the same where nothing is, or is masked."""
    found: list[str] = []
    after_flag = False
    for word in command:
        is_value = after_flag and not word.startswith("--")
        found.append(MASK if is_value else redact_text(word))
        after_flag = not is_value and _FLAG.fullmatch(word) is not None
    return tuple(found)


def redact_text(text: str) -> str:
    """A text with the secrets in it masked."""
    text = _IN_ADDRESS.sub(rf"\1:{MASK}@", text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    text = _QUOTED.sub(rf"\1\2\1\3\4{MASK}\4", text)
    return _ASSIGNED.sub(rf"\1\2{MASK}", text)


def hidden(command: Sequence[str]) -> dict[str, str]:
    """For the environment of workers: what `redact` took out of the command; {} if nothing."""
    masked = redact(command)
    words = {str(place): word for place, word in enumerate(command) if masked[place] != word}
    if not words:
        return {}
    return {VARIABLE: base64.b64encode(json.dumps(words).encode()).decode()}


def restore(command: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The command as it was before it was masked.

    Args:
        command: as `redact` left it.
        variables: among them what `hidden` said of it.
    """
    words = json.loads(base64.b64decode(variables.get(VARIABLE, "")) or "{}")
    return tuple(words.get(str(place), word) for place, word in enumerate(command))


def fingerprint(words: Sequence[str], salt: str) -> str:
    """What tells commands apart and gives nothing away: to guess what was masked takes long."""
    text = json.dumps(list(words)).encode()
    return hashlib.scrypt(text, salt=salt.encode(), dklen=16, **_COST).hex()
