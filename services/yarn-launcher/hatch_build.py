"""Compiles csrc/ while the wheel is built: a library that a worker's command is started with."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "src/audioloom_yarn_launcher/preload/bind_address.so"
COMPILER = shlex.split(os.environ.get("CC", "cc"))
MACHINES = ("x86_64", "aarch64")
ZIG = "ziglang>=0.13,<0.18"
OPTIONS = ["-O2", "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-shared", "-s"]


class Preload(BuildHookInterface):
    """The hook that hatchling calls, for wheels and for editable installs."""

    def dependencies(self) -> list[str]:
        """A C compiler as a wheel, where this machine has none."""
        return [ZIG] if is_for_here() and not shutil.which(COMPILER[0]) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say that the wheel is for one platform but for any Python.

        Elsewhere the wheel is without the library, and `run` says what that means.
        """
        del version
        if self.target_name != "wheel" or not is_for_here():
            return
        compile_library(Path(self.root))
        build_data["artifacts"].append(LIBRARY)
        build_data["pure_python"] = False
        # No symbol of glibc that is younger (a test looks): also for old nodes.
        build_data["tag"] = f"py3-none-manylinux_2_17_{os.uname().machine}"


def is_for_here() -> bool:
    """Whether programs of this machine can be started with such a library."""
    return sys.platform == "linux" and os.uname().machine in MACHINES


def compile_library(root: Path) -> None:
    """Compile csrc/ of the project at *root* to its `LIBRARY`.

    Raises:
        SystemExit: the compiler failed.
    """
    library = root / LIBRARY
    library.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=".build-") as folder:
        made = Path(folder, library.name)
        command = [*compiler(folder), *OPTIONS, f"{root}/csrc/bind_address.c", "-o", str(made)]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit(f"the compiler failed: {shlex.join(command)}")
        # In one step: another build of the same folder may be at work, or a process have it open.
        made.replace(library)


def compiler(scratch: str) -> list[str]:
    """The C compiler."""
    if shutil.which(COMPILER[0]):
        return COMPILER
    caches = (f"ZIG_GLOBAL_CACHE_DIR={scratch}/zig", f"ZIG_LOCAL_CACHE_DIR={scratch}/zig")
    target = ("-target", f"{os.uname().machine}-linux-gnu.2.17")
    return ["env", *caches, sys.executable, "-m", "ziglang", "cc", *target]
