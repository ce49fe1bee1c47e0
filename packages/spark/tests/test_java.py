from pathlib import Path

import pytest
from audioloom_spark.java import find_java, parse_version
from audioloom_stage.errors import BadConfiguration


def test_missing_java_names_the_package_to_install(tmp_path: Path) -> None:
    """Without any Java the first error says how to get one."""
    with pytest.raises(BadConfiguration, match="openjdk-17-jre-headless"):
        find_java({"PATH": str(tmp_path)})


def test_wrong_java_home_is_named(tmp_path: Path) -> None:
    """A JAVA_HOME without java is named, and PATH is not tried in its place."""
    with pytest.raises(BadConfiguration, match=str(tmp_path)):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})


def test_old_java_is_refused(tmp_path: Path) -> None:
    """Java 11 is refused by its version."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    with pytest.raises(BadConfiguration, match="Java 11"):
        find_java({"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("bash: java: command not found", None),
    ],
)
def test_version(text: str, version: int | None) -> None:
    """Old and new version texts are understood."""
    assert version == parse_version(text)
