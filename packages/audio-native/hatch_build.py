"""Compiles the kernels while the wheel is built: one library for all instruction sets."""

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

LIBRARY = "src/audioloom_audio_native/_kernels.so"

LEVELS = {"v3": 32, "v4": 64}
"""Levels of x86-64 (AVX2 and FMA; AVX-512), and the bytes of a vector."""

SINGLE, DOUBLE = (["-DREAL=" + real, "-DTABLES=tables_" + real] for real in ("float", "double"))

KERNELS = {
    "neighbours": ("mel_powers.c", 4, SINGLE),
    "chosen": ("mel_powers.c", 8, DOUBLE),
    "any_neighbours": ("any_geometry.c", 4, SINGLE),
    "any_chosen": ("any_geometry.c", 8, DOUBLE),
    "delicate": ("cepstra.c", 4, []),
    "cepstra": ("cepstra.c", 4, []),
    "signal": ("samples.c", 4, []),
    "peak": ("samples.c", 4, []),
}
"""The functions, their sources, and the bytes of the numbers they work on."""

FOR_EVERY_PROCESSOR = [("library.c", []), ("tables.c", SINGLE), ("tables.c", DOUBLE)]
"""What runs before the processor has been asked."""

COMPILER = shlex.split(os.environ.get("CC", "cc"))
ZIG = "ziglang>=0.13,<0.18"
OPTIONS = ["-O3", "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"]


class Kernels(BuildHookInterface):
    """The hook that hatchling calls, for wheels and for editable installs."""

    def dependencies(self) -> list[str]:
        """A C compiler as a wheel, where this machine has none."""
        return [] if shutil.which(COMPILER[0]) else [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say that the wheel is for one platform but for any Python."""
        del version
        if self.target_name != "wheel":
            return
        compile_kernels(Path(self.root))
        build_data["artifacts"].append(LIBRARY)
        build_data["pure_python"] = False
        # No symbol of glibc that is younger (a test looks): also for old nodes.
        build_data["tag"] = "py3-none-manylinux_2_17_x86_64"


def compile_kernels(root: Path) -> None:
    """Compile csrc/ of the project at *root* to its `LIBRARY`."""
    with tempfile.TemporaryDirectory(dir=root / Path(LIBRARY).parent, prefix=".build-") as folder:
        compiler, march = find_compiler(folder)
        objects = []
        for number, (source, defines) in enumerate(FOR_EVERY_PROCESSOR):
            objects.append(f"{folder}/{number}.o")
            run([*compiler, *OPTIONS, *defines, "-c", f"{root}/csrc/{source}", "-o", objects[-1]])
        for level, vector in LEVELS.items():
            for kernel, (source, width, defines) in KERNELS.items():
                name = f"{kernel}_{level}"
                objects.append(f"{folder}/{name}.o")
                run([*compiler, *OPTIONS, march + level, "-mprefer-vector-width=512", *defines,
                     f"-DLANES={vector // width}", f"-D{kernel.upper()}={name}",
                     "-c", f"{root}/csrc/{source}", "-o", objects[-1]])  # fmt: skip
                if b".init_array" in Path(objects[-1]).read_bytes():
                    raise SystemExit(
                        f"{source} holds code that runs when the library is loaded, and is"
                        f" compiled for {level}: elsewhere that would be an illegal instruction"
                    )
        run([*compiler, "-shared", "-s", "-o", f"{folder}/kernels.so", *objects, "-lm"])
        # In one step: another build of the same folder may be at work, or a process have it open.
        Path(f"{folder}/kernels.so").replace(root / LIBRARY)


def find_compiler(scratch: str) -> tuple[list[str], str]:
    """The C compiler, and how it spells the option for a level of x86-64 but for its end.

    Raises:
        SystemExit: the library is not for this kind of machine.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise SystemExit("audioloom-audio-native is for Linux on x86-64: leave it out elsewhere")
    if shutil.which(COMPILER[0]):
        return COMPILER, "-march=x86-64-"
    caches = (f"ZIG_GLOBAL_CACHE_DIR={scratch}/zig", f"ZIG_LOCAL_CACHE_DIR={scratch}/zig")
    target = ("-target", "x86_64-linux-gnu.2.17")
    return ["env", *caches, sys.executable, "-m", "ziglang", "cc", *target], "-march=x86_64_"


def run(command: list[str]) -> None:
    """Run a compiler; what it prints is shown.

    Raises:
        SystemExit: it failed.
    """
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"the compiler failed: {shlex.join(command)}")
