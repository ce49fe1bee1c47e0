import json

import pytest
from audioloom_manifest.canonical import canonical_bytes, canonical_number, digest, parse_json
from audioloom_manifest.errors import MalformedManifest
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e15, 1e15)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)  # fmt: skip


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_non_finite_numbers_cannot_be_written(value: object) -> None:
    """JSON has no NaN: writing one is an error, not invalid JSON."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_bytes(value)


@given(VALUES)
def test_reads_back_as_itself(value: object) -> None:
    """Both forms, for digests and for people, hold the same value."""
    assert value == parse_json(canonical_bytes(value), where="here")
    assert value == json.loads(canonical_bytes(value, indent=2))


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers()))
def test_key_order_does_not_matter(value: dict[str, int]) -> None:
    """Equal objects have equal digests."""
    assert digest(value) == digest(dict(reversed(value.items())))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_itself(value: float) -> None:
    """With the fewest digits that do."""
    text = canonical_number(value)
    assert value == float(text)
    assert len(text.partition("e")[0]) <= 25


def test_a_key_twice_is_named() -> None:
    """The first in their order; very many keys take no longer than they must."""
    keys = [f"{number:06}" for number in range(100_000)]
    text = ",".join(f'"{key}":0' for key in (*keys, keys[7], keys[5]))
    with pytest.raises(MalformedManifest, match="the key '000005' twice"):
        parse_json(f"{{{text}}}".encode(), where="here")
