"""Mask secrets in text before it is shown, logged, recorded or passed to another process.

A secret is known by its name (`--password=x`, `-Dstore.secret.key=x`, `--auth x`, `HF_TOKEN=x`,
a key of an object), by its form (an address with a password or a signature, a header `Bearer x`, a
known kind of token), or by its value after `remember`. Any other secret is not recognised and
belongs in an environment variable.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

MASK = "**********"

_LEAST_KNOWN = 4  # characters: a shorter value would match in any text
_ROUNDS = 8

known_secrets: set[str] = set()

_ALWAYS = re.compile(
    "passw(or)?d|passphrase|secret|credential"
    "|(api|access|account|private|signing|encryption|shared)key"
)
"""In a name, written together: of such a name any text is a secret."""
_PLACES = frozenset(["dir", "env", "file", "folder", "name", "path", "provider", "uri", "url"])
"""The last word of a name that says where a secret is."""
_AFTER = frozenset(["data", "header", "id", "key", "string", "value"])
_SOFT = frozenset(
    ["auth", "authorization", "bearer", "cookie", "cred", "jwt", "keypass", "pass", "pwd"]
)
_SOFT_KEY = re.compile("((aes|master|ssh)keys?|(amz|goog)signature)$")
_MARKS = ["blank", "bos", "cls", "end", "eos", "mask", "oov", "pad", "sep", "start", "unk"]
_OF_A_TEXT = frozenset([*_MARKS, "invalid", "special", "unexpected"])
_COUNTED = ["all", "audio", "extra", "input", "max", "min", "n", "new", "num", "output"]
_BEFORE = {
    "token": _OF_A_TEXT,
    "tokens": _OF_A_TEXT | {*_COUNTED, "per", "prompt", "speech", "stop", "text", "total"},
    "pass": frozenset(["all", "backward", "band", "by", "first", "forward", "high", "low", "one"]),
}
"""Tokens of a text and passes of a filter, which are no secrets."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_NAMED = re.compile(
    r"(?<![\w.-])(?P<name>-{0,2}[A-Za-z_][\w.-]*)(?P<quote>\\*[\"'])?"
    r"(?P<between>[ \t]*(?::?=>?(?!=)|:(?!//))[ \t]*|[ \t]+)"
)
_VALUE = re.compile(
    r"""(?P<prefix>[bBrRuUfF]{1,2}(?=\\*["']))?"""  # of a text in Python: b'x'
    r"""(?:(?P<quote>["'])(?:\\.|(?!(?P=quote))[^\\])*(?P=quote)"""
    r"""|(?P<escaped>\\+["'])"""  # up to the same again, which no pattern finds quickly
    r"|\[[^\]]{0,999}\]|\{[^}]{0,999}\}"
    r"""|["'](?=\S)\S*|(?:[^\s&;,"'<>]|,(?!\s|$|[\w.-]+[=:]))+)""",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*)=(.+)", re.DOTALL)
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*")
_USUAL_FLAG = re.compile(r"--[a-z][a-z0-9_.-]*(?![\w.-])")
"""What follows a flag in its place, and is not its value."""
_BOOLEAN = re.compile("true|false|none|null|yes|no|on|off", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_REFERENCE = re.compile("env:[A-Za-z_][A-Za-z0-9_]*")
_NO_PASSWORD = re.compile(r"[0-9]{1,5}(:[0-9]{1,5})?|(?:\.{0,2}|~)/.*", re.DOTALL)
"""A port or a path: what `-p` takes of programs that know no password."""
_PROSE = re.compile(
    "a|and|as|by|can|cannot|for|from|has|if|in|is|it|may|must|needs|nor|not|of|on|or|so|takes|than"
    "|that|the|to|was|what|where|which|with"
)
"""What may follow a flag in a sentence about it."""

_FORMS = [
    re.compile(
        r"(?<![A-Za-z0-9_-])(?:hf_[A-Za-z0-9]{16,}|gh[opsur]_[A-Za-z0-9]{20,}"
        r"|github_pat_\w{20,}|glpat-[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|xox[abeprs]-[\w-]{10,}"
        r"|sk-(?:proj-|ant-)?[A-Za-z0-9_]{20,}|AIza[\w-]{35}|ya29\.[\w-]{20,}|npm_[A-Za-z0-9]{36}"
        r"|pypi-AgE[\w-]{20,}|eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?)",
        re.ASCII,  # as what may not stand before: a letter with an accent would begin each anew
    ),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*KEY-----|\Z)", re.DOTALL),
]
_PASSWORD_IN_ADDRESS = re.compile(r"(?<=://)([^\s/@:]*):[^\s/]+@")
_USER_OF_WEB = re.compile(r"(?<![\w])((?:https?|ftps?)://)[^\s/@:]+@", re.IGNORECASE)
_ORACLE = re.compile(r"(jdbc:\w+:\w+:[^\s:/@]+)/[^\s@/]+@", re.IGNORECASE)
_HEADER = re.compile(
    r"(?<![\w.])((?:proxy-)?authorization|(?:set-)?cookie)(\s*:\s*)[^\s\"'][^\r\n\"']*",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(bearer)([ \t]+)([\w.~+/=-]+)", re.IGNORECASE)
_BASIC = re.compile(r"\b(basic)([ \t]+)([A-Za-z0-9+/=]{6,})", re.IGNORECASE)
_LOGINS = frozenset(["-u", "--user", "--proxy-user"])
_LOGIN = re.compile(r"([^\s:/]+):(?!//)(.+)", re.DOTALL)
_LOGIN_IN_TEXT = re.compile(
    r"""(?<![\w.-])((?:-u|--(?:proxy-)?user)(?:[ \t]+|=)(["'])?[^\s:/"']+):(?!//)"""
    r"""((?(2)[^"'\r\n]+|[^\s"']+))"""
)
_PROPERTY = re.compile(r"(<name>\s*)([^\s<]+)(\s*</name>\s*<value>)([^<]+)")
"""Of a configuration of Hadoop."""
_UNBROKEN = re.compile(r"[^\s\"'<>]+")
_PARAMETER = re.compile(r"(?<=[?&;])([\w.-]+)=([^&;#]+)")
_IN_QUERY = re.compile("(?:.*-)?(?:key|sig|signature|auth|token|code)", re.IGNORECASE)


def redact(text: str) -> str:
    """Mask the secrets in a text. Text without secrets, or already masked, stays as it is."""
    for _ in range(_ROUNDS):  # masking may uncover a secret that stood behind
        once = _once(text)
        if once == text:
            break
        text = once
    return text


def redact_words(command: Iterable[str], *, passwords_only: bool = False) -> tuple[str, ...]:
    """Mask the secrets in the words of a command line; the number of words stays.

    With *passwords_only*, ambiguous flags stay: `-p`, `--auth` and `--token` also take
    probabilities, methods and kinds. That is for comparing commands, not for showing them.
    """

    def is_secret(name: str) -> bool:
        return is_secret_name(name) and (not passwords_only or _is_always_secret(name))

    masked = _certain if passwords_only else redact
    found: list[str] = []
    before = flag = ""
    for word in command:
        is_next_flag = word.startswith("-") if flag == "-p" else _USUAL_FLAG.match(word)
        is_value = bool(flag) and not is_next_flag
        assigned = _ASSIGNED.fullmatch(word)
        logs_in = assigned is not None and assigned[1] in _LOGINS and not passwords_only
        if is_value and not _is_harmless(word, flag):
            found.append(MASK)
        elif assigned and is_secret(assigned[1]):
            harmless = _is_harmless(assigned[2], assigned[1])
            found.append(word if harmless else f"{assigned[1]}={MASK}")
        elif assigned and logs_in:
            found.append(f"{assigned[1]}={_login(assigned[2])}")
        else:
            found.append(_login(word) if before in _LOGINS and not passwords_only else masked(word))
        leads = not is_value and _is_flag(word) and (not passwords_only or is_secret(word))
        before, flag = word, word if leads else ""
    return tuple(found)


def redact_values(value: Any, *, secret: bool = False) -> Any:
    """Mask the secrets in JSON or in the values of a log line.

    Numbers stay, and so do the keys below the name of a secret: such a key may be the count of a
    label that is called "password". A value there that is no JSON is not shown.
    A value that is no JSON becomes its text; one below the name of a *secret* is not shown.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and secret:
        kept = not value or _BOOLEAN.fullmatch(value) or _REFERENCE.fullmatch(value)
        return value if kept else MASK
    if isinstance(value, Mapping):
        return {
            redact(key) if isinstance(key, str) else key: redact_values(
                one, secret=secret or (isinstance(key, str) and is_secret_name(key))
            )
            for key, one in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        some = list(value)
        if not secret and all(isinstance(one, str) for one in some):
            return list(redact_words(some))
        return [redact_values(one, secret=secret) for one in some]
    return MASK if secret else redact(value if isinstance(value, str) else repr(value))


def remember(secret: str) -> None:
    """Mask this value wherever this process shows it from now on, as it is or escaped."""
    for text in (secret, secret.strip(), " ".join(secret.split())):
        in_address = (quote(text, safe, errors="surrogateescape") for safe in ("/", ""))
        forms = (text, repr(text)[1:-1], json.dumps(text)[1:-1], *in_address)
        known_secrets.update(each for each in forms if len(each) >= _LEAST_KNOWN)


def is_secret_name(name: str) -> bool:
    """Return whether a flag, a variable, a key or an argument of that name holds a secret."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _PLACES:
        return False
    return _is_always_secret(name) or _is_soft(words)


def _is_always_secret(name: str) -> bool:
    return _ALWAYS.search("".join(_WORDS.findall(name)).lower()) is not None


def _is_soft(words: Sequence[str]) -> bool:
    """Return whether a name may also hold a number or a switch: `pad_token=0`, `auth=off`."""
    while len(words) > 1 and words[-1].isdigit():  # token2
        words = words[:-1]
    if words == ["sig"] or _SOFT_KEY.search("".join(words)):
        return True
    if len(words) > 1 and words[-1] in _AFTER:
        words = words[:-1]
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    one = last if last.endswith("ss") else last.removesuffix("s")
    if last.endswith("tokens"):  # by itself, what a text is made of
        return before not in ("", *_BEFORE["tokens"])
    if one not in _SOFT and not one.endswith(("token", "storepass")):
        return False
    return before not in _BEFORE.get(one, ())


def _is_flag(word: str) -> bool:
    return word == "-p" or (_FLAG.fullmatch(word) is not None and is_secret_name(word))


def _is_harmless(value: str, name: str) -> bool:
    """Return whether a value is no secret although its name is that of a secret."""
    if not value or value == MASK or _BOOLEAN.fullmatch(value) or _REFERENCE.fullmatch(value):
        return True
    if name == "-p":
        return _NO_PASSWORD.fullmatch(value) is not None
    return not _is_always_secret(name) and _NUMBER.fullmatch(value) is not None


def _once(text: str) -> str:
    text = _certain(text)
    text = _BASIC.sub(_basic, text)
    text = _LOGIN_IN_TEXT.sub(  # the numbers of a user and a group stay
        lambda found: found[0] if found[3].isdecimal() else f"{found[1]}:{MASK}", text
    )
    text = _PROPERTY.sub(_property, text)
    if "?" in text:
        text = _UNBROKEN.sub(_query, text)
    return _named(text)


def _certain(text: str) -> str:
    for secret in sorted(known_secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    for form in _FORMS:
        text = form.sub(MASK, text)
    text = _PASSWORD_IN_ADDRESS.sub(rf"\1:{MASK}@", text)
    text = _USER_OF_WEB.sub(rf"\1{MASK}@", text)
    text = _ORACLE.sub(rf"\1/{MASK}@", text)
    text = _HEADER.sub(rf"\1\2{MASK}", text)
    return _BEARER.sub(_bearer, text)


def _bearer(found: re.Match[str]) -> str:
    last = found[3].lower().rstrip(".")
    said = _PROSE.fullmatch(last) or last in ("auth", "authentication", "token", "tokens")
    return found[0] if said else f"{found[1]}{found[2]}{MASK}"


def _basic(found: re.Match[str]) -> str:
    value = found[3]
    said = value.isalpha() and not _is_login_in_base64(value)
    return found[0] if said else f"{found[1]}{found[2]}{MASK}"


def _is_login_in_base64(value: str) -> bool:
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return False
    return b":" in plain and plain.isascii() and plain.decode().isprintable()


def _login(value: str) -> str:
    """Mask a user and a password, as `curl -u` has it; the numbers of a user and a group stay."""
    login = _LOGIN.fullmatch(value)
    if login is None or _NO_PASSWORD.fullmatch(value):
        return redact(value)
    return f"{redact(login[1])}:{MASK}"


def _property(found: re.Match[str]) -> str:
    name, value = found[2], found[4].strip()
    if not is_secret_name(name) or _is_harmless(value, name):
        return found[0]
    return f"{found[1]}{name}{found[3]}{MASK}"


def _query(found: re.Match[str]) -> str:
    before, mark, query = found[0].partition("?")
    return before + _PARAMETER.sub(_parameter, mark + query) if "/" in before else found[0]


def _parameter(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    secret = is_secret_name(name) or _IN_QUERY.fullmatch(name)
    return f"{name}={MASK}" if secret and not _BOOLEAN.fullmatch(value) else found[0]


def _named(text: str) -> str:
    """Mask values after the names of secrets; other values may hold names again."""
    parts: list[str] = []
    done = at = 0
    while (named := _NAMED.search(text, at)) is not None:
        at = named.end("name")  # a word that is no value may be a name again
        value = _VALUE.match(text, named.end()) if _may_lead(named) else None
        if value is None:
            continue
        prefix, mark = value["prefix"] or "", value["quote"] or value["escaped"] or ""
        end = value.end()
        if value["escaped"]:
            end = text.find(mark, end) + len(mark)
            if end < value.end():  # it is never closed
                continue
        if not _is_secret(named, text[value.start() + len(prefix) : end]):
            continue
        parts += [text[done : named.end()], f"{prefix}{mark}{MASK}{mark}"]
        done = at = end
    return "".join([*parts, text[done:]])


def _may_lead(named: re.Match[str]) -> bool:
    """Return whether a word is the name of a secret: before a sign, or a flag before a blank."""
    name = named["name"]
    if named["between"].strip():
        return is_secret_name(name)
    return named["quote"] is None and name[-1] not in ".-" and _is_flag(name)


def _is_secret(named: re.Match[str], value: str) -> bool:
    name, between = named["name"], named["between"]
    bare = value.strip("\\\"'")
    if _is_harmless(bare, name):
        return False
    if not between.strip():  # a flag and its value, or a sentence about the flag
        return _is_value_of_flag(value, bare)
    if not name.startswith("-") and name.islower() and _NUMBER.fullmatch(bare):
        return len(_WORDS.findall(name)) > 1  # "password=3" counts a label
    if ":" in between and between.endswith(" ") and named["quote"] is None:
        # As a sentence goes on: "unexpected token: x".
        if not _is_always_secret(name):
            return len(bare) >= 6 and any(c.isdigit() for c in bare)  # noqa: PLR2004
        return not _PROSE.fullmatch(bare.lower())
    return True


def _is_value_of_flag(value: str, bare: str) -> bool:
    if value.startswith("-"):
        return value.startswith("--") and not _USUAL_FLAG.match(value) and bool(bare.strip("-"))
    return not _PROSE.fullmatch(bare.lower())
