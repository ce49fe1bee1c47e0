"""One way to write a JSON value as bytes, so that equal values have equal digests."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from audioloom_manifest.errors import MalformedManifest


def canonical_bytes(value: Any, *, indent: int | None = None) -> bytes:
    """Write a JSON value as UTF-8 with sorted keys; a non-finite number is a ValueError.

    Args:
        value: anything that JSON can say.
        indent: None for digests (no white space), 2 for files that people read.
    """
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        value,
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=separators,
    )
    return text.encode() if indent is None else f"{text}\n".encode()


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical bytes of a JSON value."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def parse_json(data: bytes, *, where: object) -> Any:
    """Parse JSON strictly: no duplicate keys, no NaN, bounded depth.

    Raises:
        MalformedManifest: with the place of the first error.
    """
    try:
        return json.loads(data, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except RecursionError:
        raise MalformedManifest(
            where=where, expected="JSON of ordinary depth", found="very deep nesting"
        ) from None
    except ValueError as error:
        found = str(error) if data.strip() else "an empty file"
        raise MalformedManifest(
            where=where,
            expected="a JSON object",
            found=found,
            hint="If the file was cut short, copy it again or rerun the stage that wrote it.",
        ) from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"the key {twice[0]!r} twice in one object")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"the number {text}, which JSON does not have")
