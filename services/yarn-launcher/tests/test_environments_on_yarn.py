"""An environment on a real cluster, from `env pack --public` to `env gc`, and what else it gets."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

DOCKER = {
    "YARN_CONTAINER_RUNTIME_TYPE": "docker",
    "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": "repo/tf:2",
    "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS": "/data:/data:ro,/scratch:/scratch:rw",
    "YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK": "host",
}
PROGRAM = (
    "import os, sys, mine, theirs; print(mine.NAME, theirs.NAME, os.path.realpath(sys.prefix))"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A distribution of one module, made by hand."""
    path = tmp_path_factory.mktemp("wheel") / "theirs-1-py3-none-any.whl"
    facts = "theirs-1.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("theirs.py", "NAME = 'from the environment'\n")
        file.writestr(f"{facts}/METADATA", "Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
        file.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{facts}/RECORD", f"theirs.py,,\n{facts}/METADATA,,\n{facts}/WHEEL,,\n")
    return path


@pytest.fixture(scope="module")
def public(yarn: Any, wheel: Path) -> str:
    """An environment that everybody may read."""
    words = ("env", "pack", f"--root={yarn.root}", f"--with={wheel}", "--public", "--json")
    code, out, err = yarn.call(*words)
    assert 0 == code, err
    assert "everybody on the cluster can read this environment" in err
    assert str(wheel) in err
    answer = json.loads(out)
    assert answer["public"]
    return str(answer["location"])


@pytest.fixture(scope="module")
def given(yarn: Any, public: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a run that was given all there is to give."""
    package = tmp_path_factory.mktemp("folder") / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("NAME = 'from beside it'\n")
    code, out, err = yarn.call(
        *("run", "--on=yarn", "--memory=256 MiB", f"--root={yarn.root}", "--name=given"),
        *(f"--environment={public}", f"--files={package}", "--docker-image=repo/tf:2"),
        *("--docker-mount=/data:/data", "--docker-mount=/scratch:/scratch:rw"),
        *("--docker-network=host", "--", "python", "-c", PROGRAM),
    )
    assert 0 == code, err
    return str(out)


def test_docker_flags_reach_the_launch_of_the_container(yarn: Any, given: str) -> None:
    """In the script that the NodeManager starts it by; the application master's has none."""
    scripts = [path.read_text() for path in Path(yarn.cluster.folder).rglob("launch_container.sh")]
    found = [text for text in scripts if "repo/tf:2" in text]
    assert found  # the node keeps more than one copy
    for text in found:
        assert "worker.log" in text
        for name, value in DOCKER.items():
            assert re.search(f"^export {name}=.*{re.escape(value)}", text, re.MULTILINE)


def test_a_public_environment_and_a_package_of_ones_own_are_found(yarn: Any, given: str) -> None:
    """The nodes keep what is public for all users, in another place than what is private."""
    code, out, err = yarn.call("logs", given)
    assert 0 == code, err
    assert "from beside it from the environment" in out
    assert "/usercache/" not in out


def test_records_name_what_was_used_and_gc_spares_it(yarn: Any, given: str, public: str) -> None:
    """Until no run of late uses it; and what others may read it never takes."""
    _, out, _ = yarn.call("env", "list", f"--root={yarn.root}", "--json")
    listed = {each["location"]: each for each in json.loads(out)["environments"]}
    assert "everybody" == listed[public]["read_by"]
    (private,) = listed.keys() - {public}
    assert [[given], [given]] == [listed[each]["runs"] for each in (public, private)]
    gc = ("env", "gc", f"--root={yarn.root}", "--json")
    assert [] == json.loads(yarn.call(*gc)[1])["files"]
    found = json.loads(yarn.call(*gc, "--older-than=0s", "--dry-run")[1])
    assert [private] == found["files"]
    removed = json.loads(yarn.call(*gc, "--older-than=0s", "--delete")[1])
    assert [private] == removed["files"]
    _, out, _ = yarn.call("env", "list", f"--root={yarn.root}", "--json")
    assert [public] == [each["location"] for each in json.loads(out)["environments"]]
