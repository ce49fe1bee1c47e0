"""Run by the interpreter of an environment (`-I -S`): compile what standard input lists, as JSON.

Each item is [source, name, sha256]; the bytecode of a name goes to its place below the folder that
the argument names. It is of the kind that is never compared with its source: times do not survive
an archive. A source that is not what it should be, or that is no Python of this version, is passed
over.
"""

# No pathlib: this runs in any interpreter, and quickly.
# ruff: noqa: PTH118, PTH123

import hashlib
import importlib.util
import json
import os
import py_compile
import sys

_MODE = py_compile.PycInvalidationMode.UNCHECKED_HASH


def _main(folder: str) -> None:
    for source, name, sha256 in json.load(sys.stdin):
        with open(source, "rb") as file:
            if hashlib.sha256(file.read()).hexdigest() != sha256:
                continue
        target = os.path.join(folder, importlib.util.cache_from_source(name))
        try:
            py_compile.compile(source, target, name, doraise=True, invalidation_mode=_MODE)
        except (py_compile.PyCompileError, RecursionError):  # a template, or of another version
            continue


_main(sys.argv[1])
