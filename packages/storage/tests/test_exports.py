from __future__ import annotations

import subprocess
import sys

import audioloom_storage


def test_what_is_listed_is_there() -> None:
    """`__all__` is sorted, complete and true."""
    public = {
        name
        for name, value in vars(audioloom_storage).items()
        if not name.startswith("_") and type(value).__name__ != "module"
    }
    assert sorted(audioloom_storage.__all__) == sorted(public)
    assert all(hasattr(audioloom_storage, name) for name in audioloom_storage.__all__)


def test_the_import_brings_nothing_along() -> None:
    """Every `--help` pays for it: the standard library only, and no fault layer."""
    script = (
        "import sys, audioloom_storage\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}"
        " - set(sys.stdlib_module_names)))\n"
        "print('audioloom_storage_testing' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True
    ).stdout
    foreign, testing = out.splitlines()
    assert "audioloom_storage" in foreign.split()
    assert not {"fsspec", "pyarrow", "pydantic", "hdfs", "hdfs_native"} & set(foreign.split())
    assert "False" == testing
