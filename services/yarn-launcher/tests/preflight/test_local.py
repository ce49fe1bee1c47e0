from datetime import UTC, datetime

import pytest
from audioloom_yarn_launcher.preflight import local

PROXY = "http://proxy:3128"
JARS = "/conf:/h/hadoop-common.jar"


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("", "failure"),
        ("sh: java: not found", "failure"),
        ('java version "1.7.0_80"', "failure"),
        ('openjdk version "24" 2025-03-18', "failure"),
        ('java version "1.8.0_402"', "ok"),
        ('openjdk version "17.0.21" 2026-11-17\nOpenJDK Runtime', "ok"),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version "11.0.2" 2019', "ok"),
    ],
)
def test_a_java_that_hadoop_does_not_know_is_a_failure(said: str, state: str) -> None:
    """From 8 to 21."""
    assert state == local.check_java(said).state


@pytest.mark.parametrize(
    ("variables", "state"),
    [
        ({"http_proxy": PROXY}, "failure"),
        ({"https_proxy": PROXY, "no_proxy": "example.org"}, "failure"),
        ({"grpc_proxy": PROXY, "NO_PROXY": "127.0.0.1,rm"}, "failure"),
        ({"http_proxy": PROXY, "no_proxy": "localhost,127.0.0.1"}, "warning"),
        ({"HTTP_PROXY": PROXY}, "warning"),
        ({"http_proxy": PROXY, "no_proxy": "127.0.0.1, .example.org"}, "ok"),
        ({"HTTPS_PROXY": PROXY}, "ok"),
        ({}, "ok"),
    ],
)
def test_a_proxy_between_here_and_the_driver_is_a_failure(
    variables: dict[str, str], state: str
) -> None:
    """gRPC takes lower case only, and asks a proxy even for 127.0.0.1; HTTP takes both."""
    found = local.check_proxies(variables, ["rm.example.org"])
    assert state == found.state
    if state != "ok":
        assert "export no_proxy=127.0.0.1,localhost,rm.example.org" == found.hint


def test_a_folder_where_no_program_may_run_is_named() -> None:
    """With what to set."""
    found = local.check_temp_dirs({"/scratch": True, "/var": False})
    assert ("failure", "/scratch is mounted noexec") == (found.state, found.text.partition(":")[0])
    assert "JAVA_TOOL_OPTIONS" in found.hint
    assert "ok" == local.check_temp_dirs({"/var": False}).state


def test_little_room_is_a_warning() -> None:
    """Not a failure: a run that is shipped already needs none."""
    assert ["warning", "ok"] == [local.check_room({"/x": mb}).state for mb in (2047, 2048)]


@pytest.mark.parametrize(
    ("text", "kerberos", "state"),
    [
        ("", False, "failure"),
        (JARS, True, "failure"),
        (JARS, False, "warning"),
        (f"{JARS}:/h/hadoop-mapreduce-client-core-3.4.3.jar\n", True, "ok"),
    ],
)
def test_a_class_path_without_what_asks_for_tokens_is_told(
    text: str, kerberos: bool, state: str
) -> None:
    """skein's driver takes it for that, where there is Kerberos."""
    assert state == local.check_class_path(text, kerberos=kerberos).state


def test_a_key_that_was_made_anew_is_said_to_be() -> None:
    """What ran under the old one can only be ended by YARN now."""
    days = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 12)]
    assert "renewed, good from 2026-01-01 to 2026-12-01" == (
        local.check_key(days[0], days[1], renewed=True).text
    )
