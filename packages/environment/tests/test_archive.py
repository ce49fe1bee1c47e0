"""An unpacked archive works in another place, and uses nothing of the old one."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from audioloom_environment.archive import pack
from audioloom_environment.contents import describe
from audioloom_stage.errors import TryAgain

sys.path.insert(0, str(Path(__file__).parent))  # tests are files, not a package
from conftest import install, make_prefix, site_packages

LIBRARIES_OF_NODES = ("ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libutil.")
LOOK = """
import bz2, ctypes, hashlib, json, lzma, site, sqlite3, ssl, subprocess, sys, uuid, zlib
for name in sys.argv[1:]:
    __import__(name)
lines = open("/proc/self/maps").read().splitlines()
print(json.dumps({
    "executable": sys.executable, "prefixes": [sys.prefix, sys.base_prefix], "path": sys.path,
    "user": site.ENABLE_USER_SITE,
    "mapped": sorted({line.split(None, 5)[5] for line in lines if "/" in line}),
    "modules": [m.__file__ for m in sys.modules.values() if getattr(m, "__file__", None)],
}))
"""


def packed(prefix: Path) -> bytes:
    file = io.BytesIO()
    pack(describe(prefix), file)
    return file.getvalue()


def unpacked(data: bytes, folder: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def run(*command: object, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def look(environment: Path, *modules: str) -> dict[str, object]:
    home = environment.parent / "home"
    user = home / ".local/lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    user.mkdir(parents=True)
    (user / "sitecustomize.py").write_text("raise SystemExit('the user of the node')")
    command = (environment / "bin" / "python", "-c", LOOK, *modules)
    return json.loads(run(*command, HOME=str(home)))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An environment that is gone, packed: of two distributions, one with a file of Python 2."""
    prefix = make_prefix(tmp_path_factory.mktemp("gone") / "venv")
    install(prefix, "Other", {"other.py": "raise ValueError(__file__)\n", "bad.py": "print 1\n"})
    data = packed(prefix)
    shutil.rmtree(prefix)
    return data


def test_a_changed_file_is_noticed(prefix: Path) -> None:
    """What is packed is compared with what the digest was taken of."""
    described = describe(prefix)
    (site_packages(prefix) / "greeting" / "data.txt").write_text("DATA\n")
    with pytest.raises(TryAgain, match=r"data\.txt"):
        pack(described, io.BytesIO())


@pytest.mark.slow
def test_a_vanished_file_is_noticed(prefix: Path) -> None:
    """As is one that is gone."""
    described = describe(prefix)
    (site_packages(prefix) / "greeting" / "data.txt").unlink()
    with pytest.raises(TryAgain, match=r"data\.txt"):
        pack(described, io.BytesIO())


def test_the_same_environment_gives_the_same_bytes(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time, owner or order of listing gets in, nor how many cores compile at once."""
    first = packed(prefix)
    for path in site_packages(prefix).rglob("*"):
        os.utime(path, (1, 1))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert first == packed(prefix)


def test_what_is_imported_is_compiled_already(archive: bytes, tmp_path: Path) -> None:
    """Whatever the times of the files on the node are; names in traces are those of the node."""
    elsewhere = unpacked(archive, tmp_path / "elsewhere")
    module = site_packages(elsewhere) / "greeting" / "__init__.py"
    tag = sys.implementation.cache_tag
    bytecode = module.with_name("__pycache__") / f"__init__.{tag}.pyc"
    assert b"hello from" in bytecode.read_bytes()
    assert not list(site_packages(elsewhere).glob("__pycache__/bad.*"))
    code = "import sys, json, greeting; print(json.dumps(greeting.__cached__))"
    python = elsewhere / "bin" / "python"
    read_only = [python, "-B", "-v", "-c", code]
    done = subprocess.run(read_only, capture_output=True, text=True, check=True, env={})
    assert str(bytecode) == json.loads(done.stdout)
    sources = [line for line in done.stderr.splitlines() if line.endswith(".py'")]
    assert [] == [line for line in sources if line.startswith("# code object from")]
    done = subprocess.run(
        [python, "-c", "import other"], capture_output=True, text=True, check=False, env={}
    )
    assert f'File "{site_packages(elsewhere)}/other.py", line 1' in done.stderr


def test_archive_names_no_owner_and_no_time(archive: bytes) -> None:
    """Owner 0, time 0, sorted, and nothing that leads out."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = tar.getmembers()
    assert {(0, 0, 0, "", "")} == {
        (one.uid, one.gid, one.mtime, one.uname, one.gname) for one in members
    }
    names = [one.name for one in members]
    assert sorted(names) == names
    assert {"bin/python", "bin/python3"} <= {one.name for one in members if one.issym()}


def test_console_script_works_elsewhere_without_the_original(
    archive: bytes, tmp_path: Path
) -> None:
    """Also through a link, and when the environment that was packed is gone."""
    elsewhere = unpacked(archive, tmp_path / "else where")
    link = tmp_path / "link"
    link.symlink_to(elsewhere / "bin" / "greet")
    assert f"hello from {elsewhere}/bin/python a b\n" == run(link, "a b", PATH="/usr/bin:/bin")


def test_nothing_outside_is_used_but_what_nodes_have(tmp_path: Path) -> None:
    """This very environment, packed: its interpreter, modules and libraries all lie inside."""
    elsewhere = unpacked(packed(Path(sys.prefix)), tmp_path / "elsewhere")
    found = look(elsewhere, "audioloom_storage", "isal.igzip", "pydantic_core", "pytest")
    assert str(elsewhere / "bin" / "python") == found["executable"]
    assert [str(elsewhere)] * 2 == found["prefixes"]
    assert not found["user"]
    inside = f"{elsewhere}/"
    assert [] == [path for path in found["path"] if path and not path.startswith(inside)]
    assert [] == [path for path in found["modules"] if not path.startswith(inside)]
    mapped = [path for path in found["mapped"] if not path.startswith(inside)]
    foreign = [
        path
        for path in mapped
        if ".so" in path and not Path(path).name.startswith((*LIBRARIES_OF_NODES, "libgcc_s."))
    ]
    assert [] == foreign


def test_archive_says_what_it_was_made_of(archive: bytes, tmp_path: Path) -> None:
    """For whoever checks it on a node."""
    about = json.loads((unpacked(archive, tmp_path / "x") / "environment.json").read_text())
    assert {"greet-ing": "1.0", "other": "1.0"} == about["distributions"]
    assert sys.version.split()[0] == about["python"]
