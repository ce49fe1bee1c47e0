"""The interpreter of an environment and its parts, as the interpreter itself reports them."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from audioloom_stage.errors import BadConfiguration

from audioloom_environment.programs import output_of

#: Extension modules that are useless on a node, or that depend on half a desktop.
LEFT_OUT_EXTENSIONS = ("_ctypes_test", "_tkinter", "nis", "ossaudiodev")

# Every node has these, in a version that fits its own kernel: they must never be carried.
_SYSTEM = (
    *("ld-linux", "libanl.", "libc.", "libdl.", "libgcc_s.", "libm.", "libmvec.", "libnsl."),
    *("libnss_", "libpthread.", "libresolv.", "librt.", "libstdc++.", "libutil."),
)


@dataclass(frozen=True)
class Interpreter:
    """The interpreter that runs an environment."""

    name: str
    """`python3.11`."""
    version: str
    build: str
    """`sys.version`, which tells builds of one version apart."""
    platform: str
    libc: str
    """`glibc 2.36`: the C library that the carried libraries need."""
    executable: Path
    """The binary itself, no link."""
    stdlib: Path
    libraries: dict[str, Path]
    """Those that it is linked against beyond the C library, by the name that is asked for."""
    debian: bool
    """Packages lie in `dist-packages`, as in Debian's own Python."""


def look_at(prefix: Path) -> Interpreter:
    """Ask the interpreter of an environment for its parts.

    BadConfiguration if there is none, it does not run, or it is no CPython on Linux.
    """
    python = prefix / "bin" / "python"
    if (prefix / "conda-meta").is_dir():
        raise BadConfiguration(
            "This is a conda environment.",
            where=prefix,
            expected="a virtual environment",
            hint="Pack it with conda-pack: such an archive carries its Python too.",
        )
    if sys.platform != "linux":
        raise BadConfiguration(
            "Environments are packed for nodes that run Linux.",
            expected="Linux",
            found=sys.platform,
            hint="Run this on a machine like the nodes.",
        )
    printed = output_of(
        [python, "-I", "-S", Path(__file__).with_name("_probe.py"), *LEFT_OUT_EXTENSIONS],
        "No Python runs there.",
        where=prefix,
        expected="an environment with bin/python, as `uv venv` or `python -m venv` makes it",
    )
    answer = json.loads(printed)
    if (found := answer.pop("implementation")) != "CPython":
        raise BadConfiguration(expected="CPython", found=found, where=python)
    libraries = {
        name: Path(path)
        for name, path in sorted(answer.pop("libraries").items())
        if not name.startswith(_SYSTEM)
    }
    return Interpreter(
        executable=Path(answer.pop("executable")),
        stdlib=Path(answer.pop("stdlib")),
        libraries=libraries,
        **answer,
    )
