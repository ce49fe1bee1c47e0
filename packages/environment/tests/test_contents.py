"""What goes into an archive, and what its digest depends on."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from audioloom_environment.contents import describe
from audioloom_stage.errors import BadConfiguration

sys.path.insert(0, str(Path(__file__).parent))  # tests are files, not a package
from conftest import install, site_packages

PACKAGES = f"lib/python3.{sys.version_info[1]}/site-packages/"
EDITABLE = '{"url": "file:///somewhere", "dir_info": {"editable": true}}'


def paths(prefix: Path, **more: object) -> set[str]:
    return {member.path for member in describe(prefix, **more).members}


def test_a_folder_without_python_is_refused(tmp_path: Path) -> None:
    """What is no environment is refused, naming it."""
    with pytest.raises(BadConfiguration, match=str(tmp_path)):
        describe(tmp_path)


def test_a_conda_environment_is_refused(prefix: Path) -> None:
    """Conda's are packed by conda-pack, which the message says."""
    (prefix / "conda-meta").mkdir()
    with pytest.raises(BadConfiguration, match="conda-pack"):
        describe(prefix)


def test_an_environment_that_shares_is_refused(prefix: Path) -> None:
    """System packages would be missing elsewhere."""
    with (prefix / "pyvenv.cfg").open("a") as file:
        file.write("include-system-site-packages = true\n")
    with pytest.raises(BadConfiguration, match="include-system-site-packages"):
        describe(prefix)


@pytest.mark.parametrize("name", ["__editable___odd_finder.pth", "odd.pth"])
def test_an_editable_install_by_code_is_refused_by_name(prefix: Path, name: str) -> None:
    """What finds its modules by code of its own cannot be copied."""
    install(prefix, "odd", {name: "import __editable___odd_finder\n"}, direct_url=EDITABLE)
    with pytest.raises(BadConfiguration, match=r"odd 1\.0 is installed by reference"):
        describe(prefix)


def test_an_editable_install_without_a_folder_is_refused_by_name(prefix: Path) -> None:
    """A reference that leads nowhere would be a missing module on the node."""
    install(prefix, "odd", {"odd.pth": "/nowhere/at/all\n"}, direct_url=EDITABLE)
    with pytest.raises(BadConfiguration, match=r"odd 1\.0 is installed by reference"):
        describe(prefix)


def test_an_editable_install_is_copied(prefix: Path, tmp_path: Path) -> None:
    """The modules of the folder that a .pth file names lie in site-packages; its tests do not."""
    project = tmp_path / "project"
    modules = ("odd/__init__.py", "odd/part/deep.py")
    for path in (*modules, "tests/test_odd.py", ".git/x.py", "setup.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("pass\n")
    install(prefix, "odd", {"odd.pth": f"{project}\n"}, direct_url=EDITABLE)
    found = paths(prefix)
    assert {PACKAGES + path for path in modules} < found
    assert not [path for path in found if path.endswith(("test_odd.py", "setup.py", ".git/x.py"))]
    assert PACKAGES + "odd.pth" not in found


def test_what_is_of_no_use_is_left_out(prefix: Path) -> None:
    """No bytecode, no tests of the standard library, nothing that names this machine."""
    cache = site_packages(prefix) / "greeting" / "__pycache__"
    cache.mkdir()
    (cache / "data.pyc").write_text("")
    found = paths(prefix)
    assert not [path for path in found if path.endswith(".pyc") or "INSTALLER" in path]
    assert not [path for path in found if "/test/" in path or "ensurepip" in path]
    assert {"bin/greet", "bin/python", PACKAGES + "greeting/data.txt", "environment.json"} < found


def test_a_distribution_is_left_out_by_name(prefix: Path) -> None:
    """With its console script and its metadata, however its name is spelt."""
    found = paths(prefix, exclude=["greet-ING", "not-installed"])
    assert not [path for path in found if "greet" in path]
    assert {} == describe(prefix, exclude=["greet.ing"]).distributions


def test_the_digest_does_not_depend_on_the_place(prefix: Path, tmp_path: Path) -> None:
    """Two environments with the same content have the same digest."""
    first = describe(prefix).digest
    other = tmp_path / "elsewhere"
    shutil.move(prefix, other)
    script = other / "bin" / "greet"
    script.write_text(script.read_text().replace(str(prefix), str(other)))
    assert first == describe(other).digest


@pytest.mark.parametrize("change", ["size", "same size", "new file", "mode"])
def test_the_digest_sees_a_change(prefix: Path, change: str) -> None:
    """Whatever changes what would be packed changes the digest, RECORD or not."""
    before = describe(prefix).digest
    packages = site_packages(prefix)
    if change == "size":
        (packages / "greeting" / "data.txt").write_text("more data\n")
    elif change == "same size":
        file = packages / "greeting" / "data.txt"
        file.write_text("date\n")
        os.utime(file, (time.time() + 10, time.time() + 10))  # some time after the installation
    elif change == "new file":
        (packages / "sitecustomize.py").write_text("print('surprise')\n")
    else:
        (packages / "greeting" / "data.txt").chmod(0o755)
    assert before != describe(prefix).digest


def test_links_in_circles_end(prefix: Path) -> None:
    """A link to a folder above is passed over."""
    (site_packages(prefix) / "greeting" / "up").symlink_to("..")
    assert not [path for path in paths(prefix) if "/up/" in path]
