"""What holds for the tests of every project: properties are the same each time, on any machine."""

from contextlib import suppress

with suppress(ImportError):  # not every project has properties to test
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "audioloom",
        deadline=None,  # a busy machine is no failure
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("audioloom")
