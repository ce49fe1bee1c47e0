"""How an attack reports its outcome: one line that a person reads, and a test that fails."""

from __future__ import annotations


def refused(attack: str, *, held: bool) -> None:
    """Print the outcome of an attack.

    Args:
        attack: what was tried, in a few words.
        held: whether the product withstood it.

    Raises:
        AssertionError: the attack succeeded.
    """
    print(f"{'refused' if held else 'SUCCEEDED'}: {attack}", flush=True)  # noqa: T201
    assert held, f"the attack succeeded: {attack}"
