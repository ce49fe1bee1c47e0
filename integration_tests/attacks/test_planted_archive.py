"""Another user plants what a stage ships, under the name that the stage will look for."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_quickstart.programs import Programs
from deployment import Deployment
from tones import PATTERN, write_tones
from verdict import refused

NOBODY = 65534
MALLORY = {"HADOOP_USER_NAME": "mallory"}


def evil(folder: Path) -> Path:
    """An archive with a Python that leaves a file `owned` beside it."""
    script = f"#!/bin/sh\ntouch {folder}/owned\n".encode()
    archive = folder / "evil.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        info = tarfile.TarInfo("bin/python")
        info.mode, info.size = 0o755, len(script)
        tar.addfile(info, io.BytesIO(script))
    return archive


def plant(deployment: Deployment, root: str, archive: Path) -> list[str]:
    """Let another user have each name of what lies there; the names."""
    folder = f"{root}/environments"
    names = [each.name for each in deployment.children(folder.removeprefix(f"{deployment.root}/"))]
    deployment.answer("hdfs", "dfs", "-chmod", "1777", folder)
    for name in names:
        where = f"{folder}/{name}"
        deployment.answer("hdfs", "dfs", "-rm", "-skipTrash", where)
        put = ("dfs", "-put", str(archive), where)
        deployment.start("hdfs", *put, variables=MALLORY).answer()
    return names


def test_planted_launchers_are_not_shipped(deployment: Deployment, tmp_path: Path) -> None:
    """The containers of a run would get the victim's tokens."""
    root = f"{deployment.root}/planted-launcher"
    tmp_path.chmod(0o777)

    def run(name: str) -> tuple[int, str]:
        words = ("run", "--on", "yarn", "--memory", "256 MiB", "--root", root, "--name", name)
        command = deployment.start("yarn-launcher", *words, "--", "true")
        code, _ = command.finish()
        return code, command.said

    assert run("first")[0] == 0
    (name,) = plant(deployment, root, evil(tmp_path))
    code, said = run("second")
    held = code == 0 and name.replace(".", ".2.", 1) in said
    refused("a planted launcher on HDFS", held=held and not (tmp_path / "owned").exists())


def test_planted_jars_and_executors_are_not_shipped(deployment: Deployment, tmp_path: Path) -> None:
    """The JVM and the Python of each executor."""
    write_tones(tmp_path / "source")
    root = f"{deployment.root}/planted-jars"
    source = deployment.put(tmp_path / "source", "planted-source")
    scan = ("scan", source, "--root", root, "--pattern", PATTERN)
    recordings = deployment.answer("featurizer", *scan)

    def run(name: str) -> tuple[int, str]:
        words = ("run", recordings, "--root", root, "--name", name, "--master", "yarn")
        command = deployment.start("featurizer", *words)
        code, _ = command.finish()
        return code, command.said

    assert run("first")[0] == 0
    names = plant(deployment, root, evil(tmp_path))
    code, said = run("second")
    held = code == 0 and not (tmp_path / "owned").exists()
    for kind in ("spark-jars-", ""):
        (name,) = (each for each in names if each.startswith("spark-jars-") == bool(kind))
        what = "planted jars of Spark" if kind else "a planted environment of executors"
        refused(f"{what} on HDFS", held=held and name.replace(".", ".2.", 1) in said)


def by_another_user(file: Path) -> None:
    """Readable for us, as an archive that is shared."""
    os.chown(file, NOBODY, -1)
    file.chmod(0o644)


def by_anybody(file: Path) -> None:
    """In a file of ours that everybody may write."""
    file.chmod(0o666)


def by_a_link(file: Path) -> None:
    """To a file of theirs."""
    theirs = file.with_name("theirs")
    file.rename(theirs)
    os.chown(theirs, NOBODY, -1)
    file.symlink_to(theirs)


@pytest.mark.parametrize("planting", [by_another_user, by_anybody, by_a_link])
def test_planted_environments_are_not_taken_for_packed(
    programs: Programs, tmp_path: Path, planting: Callable[[Path], None]
) -> None:
    """What `env pack` answers is what runs are given."""
    if os.geteuid() != 0:
        pytest.skip("only root can play another user")
    wheel, root = tmp_path / "theirs-1-py3-none-any.whl", tmp_path / "root"
    facts = "theirs-1.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("theirs.py", "")
        file.writestr(f"{facts}/METADATA", "Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
        file.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{facts}/RECORD", f"theirs.py,,\n{facts}/METADATA,,\n{facts}/WHEEL,,\n")
    pack = ("yarn-launcher", "env", "pack", f"--root={root}", f"--with={wheel}")
    planted = Path(programs.run("pack", *pack))
    planted.write_bytes(evil(tmp_path).read_bytes())
    planting(planted)
    given = Path(programs.run("pack", *pack))
    held = given.name == planted.name.replace(".", ".2.", 1)
    refused(f"an environment planted {planting.__name__.replace('_', ' ')}", held=held)
