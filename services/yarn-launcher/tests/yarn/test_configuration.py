import socket
from pathlib import Path
from typing import Any

import pytest
from audioloom_stage.exit_codes import exit_code
from audioloom_yarn_launcher.errors import NoCluster, ResourceManagerDown
from audioloom_yarn_launcher.yarn.configuration import (
    Hadoop,
    check_programs,
    check_reachable,
    find_hadoop,
)


def write(folder: Path, name: str, **properties: str) -> None:
    lines = "".join(
        f"<property><name>{key.replace('__', '.').replace('_', '-')}</name>"
        f"<value>{value}</value></property>"
        for key, value in properties.items()
    )
    (folder / name).write_text(f"<configuration>{lines}</configuration>")


def of(**properties: str) -> Hadoop:
    dotted = {key.replace("__", ".").replace("_", "-"): value for key, value in properties.items()}
    return Hadoop(Path("/conf"), dotted)


@pytest.mark.parametrize("named", [None, "", "/no/such/folder", "."])
def test_a_cluster_that_is_not_named_is_refused_by_the_variable(
    named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 78, before anything else is looked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    if named is not None:
        monkeypatch.setenv("HADOOP_CONF_DIR", named)
    with pytest.raises(NoCluster, match="HADOOP_CONF_DIR") as caught:
        find_hadoop()
    assert 78 == exit_code(caught.value)


def test_a_broken_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what is wrong in it."""
    (tmp_path / "yarn-site.xml").write_text("<configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(NoCluster, match=r"yarn-site\.xml.*no element found"):
        find_hadoop()


def test_a_manager_that_does_not_answer_is_named() -> None:
    """Exit code 69, with the address; the first that answers is enough."""
    with socket.socket() as free, socket.socket() as listens:
        for one in (free, listens):
            one.bind(("127.0.0.1", 0))
        listens.listen()
        down = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ResourceManagerDown, match=down) as caught:
            check_reachable(of(yarn__resourcemanager__address=down))
        assert 69 == exit_code(caught.value)
        ids = {"yarn__resourcemanager__ha__enabled": "true"}
        ids["yarn__resourcemanager__ha__rm_ids"] = "one,two"
        ids["yarn__resourcemanager__address__one"] = down
        ids["yarn__resourcemanager__address__two"] = f"127.0.0.1:{listens.getsockname()[1]}"
        check_reachable(of(**ids))


@pytest.mark.parametrize(
    ("programs", "told"), [([], "Java is missing"), (["java"], "`yarn` is missing")]
)
def test_what_skein_starts_must_be_there(
    programs: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java, and the program that knows where Hadoop's jars are."""
    for name in programs:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(NoCluster, match=told):
        check_programs()


def test_a_wrong_java_home_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A java on the PATH does not help: skein takes JAVA_HOME."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoCluster, match=str(tmp_path)):
        check_programs()


@pytest.mark.parametrize(
    ("variables", "code", "told"),
    [({}, 78, "HADOOP_CONF_DIR"), ({"HADOOP_CONF_DIR": "conf"}, 69, "no ResourceManager answers")],
)
def test_run_says_so_in_a_moment(
    launches: Any, variables: dict[str, str], code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line, with no cluster and with one that is down; nothing is written."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    (launches.folder / "conf").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        down = f"127.0.0.1:{free.getsockname()[1]}"
        write(launches.folder / "conf", "yarn-site.xml", yarn__resourcemanager__address=down)
        for name in ("java", "yarn"):
            (launches.folder / name).write_text("#!/bin/sh\n")
            (launches.folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(launches.folder))
        monkeypatch.delenv("JAVA_HOME", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        words = ("run", "--on=yarn", "--root", str(launches.root), "--", "true")
        found, out, err = launches.run(*words)
    assert (code, "") == (found, out)
    assert told in err
    assert not launches.root.exists()
