"""What holds for the tests of every project: they are the same each time, wherever they run."""

import os
import signal
from contextlib import suppress

import pytest

# Whoever starts the tests in the background of a shell has them ignore Ctrl-C, which their children
# would inherit: those that are interrupted on purpose would not end.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests that take files away are not about files that appear late.
os.environ.setdefault("AUDIOLOOM_LATE_FILES_SECONDS", "0")

with suppress(ImportError):  # not every project has properties to test
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "audioloom",
        deadline=None,  # a busy machine is no failure
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("audioloom")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run in two processes, those that share what takes long to make share one."""
    for item in items:
        made = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - nothing public tells
        if "cluster" in made and made["cluster"][-1].scope == "session":
            item.add_marker(pytest.mark.xdist_group("cluster"))
        elif any(fixtures[-1].scope == "module" for fixtures in made.values()):
            item.add_marker(pytest.mark.xdist_group(item.path.name))
