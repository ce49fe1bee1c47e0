"""Run by the interpreter that is looked at (`-I -S`): print what it consists of, as JSON.

It needs nothing but the standard library, and imports what the archive will carry of it, so that
the libraries which those modules are linked against show up as loaded.
"""

# No pathlib: this runs in an interpreter whose imports are looked at.
# ruff: noqa: PTH112, PTH118, PTH119, PTH208, T201

import ctypes
import importlib
import json
import os
import platform
import site
import sys
import sysconfig


class _Info(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


def _loaded() -> dict[str, str]:
    """Loaded libraries: the name that others ask for, and where it was found."""
    found: dict[str, str] = {}
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Info), ctypes.c_size_t, ctypes.c_void_p)

    def see(info: "ctypes._Pointer[_Info]", _size: int, _data: object) -> int:
        name = os.fsdecode(info.contents.name or b"")
        if name.startswith("/"):
            found[os.path.basename(name)] = os.path.realpath(name)
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(kind(see), None)
    return found


def _main() -> None:
    extensions = os.path.join(sysconfig.get_path("platstdlib"), "lib-dynload")
    skipped = set(sys.argv[1:])
    for file in sorted(os.listdir(extensions)) if os.path.isdir(extensions) else ():
        module = file.partition(".")[0]
        if module not in skipped and not module.startswith(("_test", "_xxtest", "xx")):
            try:
                importlib.import_module(module)
            except ImportError:  # it does not work here, and will not there
                continue
    libraries = {
        name: path
        for name, path in _loaded().items()
        if not path.startswith(extensions + os.sep) and path != os.path.realpath(sys.executable)
    }
    print(
        json.dumps(
            {
                "version": platform.python_version(),
                "implementation": platform.python_implementation(),
                "build": sys.version,
                "platform": sysconfig.get_platform(),
                "libc": " ".join(platform.libc_ver()),
                "name": f"python{sys.version_info[0]}.{sys.version_info[1]}",
                "executable": os.path.realpath("/proc/self/exe"),
                "stdlib": sysconfig.get_path("stdlib"),
                "debian": any(
                    path.endswith("/dist-packages") for path in site.getsitepackages([sys.prefix])
                ),
                "libraries": libraries,
            }
        )
    )


_main()
