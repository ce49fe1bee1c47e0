"""JSON as the contract reads and writes it: strict to read, one way to write it for digests."""

import hashlib
import json
from collections import Counter
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from audioloom_manifest.errors import MalformedManifest

MOST_DEPTH = 64
"""Arrays and objects inside one another."""


def canonical_bytes(value: Any, *, indent: int | None = None) -> bytes:
    """Write a JSON value as UTF-8 with sorted keys; a non-finite number is a ValueError.

    Args:
        value: anything that JSON can say.
        indent: None for digests (RFC 8785, integers with all of their digits), 2 for files that
            people read.
    """
    if indent is None:
        return _canonical(value).encode()
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=indent)
    return f"{text}\n".encode()


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical bytes of a JSON value."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def canonical_number(value: float) -> str:
    """Write a float as ECMAScript does: the shortest digits that read back as the same number."""
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        raise ValueError(f"the number {text} is not JSON compliant")
    if "e" not in text:
        return "0" if value == 0 else text.removesuffix(".0")
    sign, numbers, exponent = Decimal(text).normalize().as_tuple()
    digits, minus = "".join(map(str, numbers)), "-" if sign else ""
    point = len(digits) + int(exponent)
    if len(digits) <= point <= 21:  # noqa: PLR2004
        return minus + digits + "0" * (point - len(digits))
    if -6 < point <= 0:  # noqa: PLR2004
        return f"{minus}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{minus}{digits[0]}{fraction}e{point - 1:+d}"


def parse_json(data: bytes, *, where: object) -> Any:
    """Parse JSON strictly: UTF-8, no duplicate keys, numbers in range, bounded depth.

    Raises:
        MalformedManifest: with the place of the first error.
    """
    try:
        value = json.loads(
            data.decode(),
            object_pairs_hook=_no_duplicates,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_of_64_bits,
        )
        _check_depth(value, MOST_DEPTH)
        if b"\\u" in data:  # the only way to write half of a surrogate pair
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        found = f"more than {MOST_DEPTH} arrays and objects inside one another"
    except ValueError as error:
        found = str(error) if data.strip() else "an empty file"
    else:
        return value
    raise MalformedManifest(
        where=where,
        expected="a JSON object",
        found=found,
        hint="If the file was cut short, copy it again or rerun the stage that wrote it.",
    )


def _canonical(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict):
        keys = sorted(value)
        if not "".join(keys).isascii():
            keys.sort(key=lambda key: key.encode("utf-16-be"))
        return (
            "{" + ",".join([f"{encode_basestring(k)}:{_canonical(value[k])}" for k in keys]) + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([_canonical(each) for each in value]) + "]"
    if isinstance(value, float):
        return canonical_number(value)
    return repr(value) if type(value) is int else json.dumps(value)


def _check_depth(value: Any, left: int) -> None:
    if isinstance(value, (dict, list)):
        if not left:
            raise RecursionError
        for each in value.values() if isinstance(value, dict) else value:
            _check_depth(each, left - 1)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        times = Counter(key for key, _ in pairs)
        twice = min(key for key, count in times.items() if count > 1)
        raise ValueError(f"the key {twice!r} twice in one object")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"the number {text}, which JSON does not have")


def _finite(text: str) -> float:
    if (value := float(text)) in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]}, which is beyond a double")
    return value


def _of_64_bits(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (value := int(text)) < 2**63:  # noqa: PLR2004
        raise ValueError(f"the integer {text[:25]}, which is beyond 64 bits")
    return value
