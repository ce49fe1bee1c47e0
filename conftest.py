"""What holds for the tests of every project: they are the same each time, wherever they run."""

import signal
from contextlib import suppress

# Whoever starts the tests in the background of a shell has them ignore Ctrl-C, which their children
# would inherit: those that are interrupted on purpose would not end.
signal.signal(signal.SIGINT, signal.default_int_handler)

with suppress(ImportError):  # not every project has properties to test
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "audioloom",
        deadline=None,  # a busy machine is no failure
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("audioloom")
