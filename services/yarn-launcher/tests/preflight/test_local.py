from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_yarn_launcher.preflight import local
from audioloom_yarn_launcher.yarn.credentials import Life

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


def test_a_folder_where_no_program_may_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to set."""
    monkeypatch.setattr(local, "is_noexec", lambda folder: folder == "/scratch")
    found = local.check_temp_dirs({"/scratch", "/var"})
    assert ("failure", "/scratch is mounted noexec") == (found.state, found.text.partition(":")[0])
    assert "JAVA_TOOL_OPTIONS" in found.hint
    assert "ok" == local.check_temp_dirs({"/var"}).state


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


def test_a_key_that_was_made_anew_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ran under the old one can only be ended by YARN now."""
    now = datetime.now(UTC)
    life = Life(now - timedelta(days=99), now + timedelta(days=99))
    skein = SimpleNamespace(properties=SimpleNamespace(config_dir=str(tmp_path)))
    monkeypatch.setattr(local, "import_skein", lambda: skein)
    monkeypatch.setattr(local, "own_key", lambda _: (tmp_path / "skein.crt").write_text("new"))
    monkeypatch.setattr(local, "life_of", lambda _: life)
    good = f"good from {life.begins:%Y-%m-%d} to {life.ends:%Y-%m-%d}"
    assert [f"renewed, {good}", good] == [local.key().text for _ in range(2)]
