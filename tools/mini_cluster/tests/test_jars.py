"""The jars are what was pinned, whoever fetches them."""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from audioloom_mini_cluster import jars
from audioloom_mini_cluster.errors import JarsMissing
from audioloom_mini_cluster.jars import Jar, ensure_jars, parse, pinned

POM = "{http://maven.apache.org/POM/4.0.0}"


def test_without_maven_and_ivy_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(jars, "find_ivy", lambda: None)
    with pytest.raises(JarsMissing, match=r"apt-get install maven.*\[ivy\]"):
        ensure_jars(tmp_path / "cache", java=Path("java"))
    assert [] == list((tmp_path / "cache").iterdir())


def fake_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gives: str, also: str = "") -> None:
    """Let `mvn` give one jar, of which `good` is pinned; each call of it adds a line to a file."""
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/calls\n{also}\n"
        f'for w; do o=${{w#-DoutputDirectory=}}; done\nprintf {gives} > "$o/a-1.jar"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    good = Jar("g", "a", "1", "", hashlib.sha256(b"good").hexdigest())
    monkeypatch.setattr(jars, "pinned", lambda: (good,))


def calls(tmp_path: Path) -> int:
    return len((tmp_path / "calls").read_text().splitlines())


def test_other_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that gives something else gives nothing."""
    fake_maven(tmp_path, monkeypatch, "evil")
    with pytest.raises(JarsMissing, match=r"a-1\.jar"):
        ensure_jars(tmp_path / "cache", java=Path("java"))
    assert [] == list((tmp_path / "cache").iterdir())


def test_what_is_there_is_taken_and_what_is_damaged_is_fetched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maven is called for a missing and for a damaged folder only."""
    fake_maven(tmp_path, monkeypatch, "good")

    def folder() -> Path:
        return ensure_jars(tmp_path / "cache", java=Path("java"))

    found = folder()
    assert found == folder()
    assert 1 == calls(tmp_path)
    (found / "a-1.jar").write_text("damaged")
    assert b"good" == (folder() / "a-1.jar").read_bytes()
    assert 2 == calls(tmp_path)


def test_two_who_come_at_once_fetch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits, and takes what the first has fetched."""
    fake_maven(tmp_path, monkeypatch, "good", also="sleep 1")
    with ThreadPoolExecutor(2) as both:
        one, other = both.map(
            lambda cache: ensure_jars(cache, java=Path("java")), [tmp_path / "cache"] * 2
        )
    assert one == other
    assert b"good" == (one / "a-1.jar").read_bytes()
    assert 1 == calls(tmp_path)


def test_every_jar_is_pinned_once() -> None:
    """A SHA-256 each, no name twice, the daemons among them."""
    found = pinned()
    assert len(found) == len({jar.file for jar in found})
    assert {64} == {len(jar.sha256) for jar in found}
    daemons = {
        "hadoop-hdfs",
        "hadoop-yarn-server-resourcemanager",
        "hadoop-yarn-server-nodemanager",
    }
    assert daemons <= {jar.artifact for jar in found if jar.version == jars.HADOOP}


def test_a_classifier_is_part_of_the_name() -> None:
    """As Maven Central has it."""
    (jar,) = parse(f"{'0' * 64} io.netty:epoll:4.1:linux-x86_64\n")
    assert "epoll-4.1-linux-x86_64.jar" == jar.file


def test_maven_and_ivy_are_asked_for_the_same_jars() -> None:
    """Each jar by name, and nothing that those would like to bring along."""
    found = pinned()
    pom = ET.fromstring(jars.pom_of(found))  # noqa: S314 - our own
    by_maven = {
        tuple(
            one.findtext(POM + tag, "")
            for tag in ("groupId", "artifactId", "version", "classifier")
        )
        for one in pom.iter(POM + "dependency")
    }
    ivy = ET.fromstring(jars.ivy_of(found))  # noqa: S314 - our own
    classifier = "{http://ant.apache.org/ivy/maven}classifier"
    by_ivy = {
        (one.get("org"), one.get("name"), one.get("rev"), each.get(classifier, ""))
        for one in ivy.iter("dependency")
        for each in one
    }
    wanted = {(jar.group, jar.artifact, jar.version, jar.classifier) for jar in found}
    assert wanted == by_maven
    assert wanted == by_ivy
    assert {"false"} == {one.get("transitive") for one in ivy.iter("dependency")}
