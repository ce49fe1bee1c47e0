"""The fixtures of all attacks: an attack starts a cluster only if it asks for `deployment`."""

from __future__ import annotations

from pathlib import Path

import pytest
from audioloom_quickstart.programs import Programs, programs_from_environment

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep attacks out of the default session: `attacks` runs them."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """Replace the check of the other integration tests, which needs a cluster."""


@pytest.fixture(scope="session")
def programs() -> Programs:
    """The installed stages, by name."""
    return programs_from_environment()
