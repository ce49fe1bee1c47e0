"""A small environment, as installers leave one: real, and made in half a second."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Install = Callable[..., Path]

_SCRIPT = "#!{python}\nimport sys\nfrom greeting import greet\nsys.exit(greet())\n"
_PACKAGE = """
import sys

def greet():
    print("hello from", sys.executable, *sys.argv[1:])
"""


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A virtual environment that holds one distribution with a console script."""
    return make_prefix(tmp_path / "venv")


def make_prefix(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--symlinks", folder], check=True
    )
    install(folder, "Greet_ing", {"greeting/__init__.py": _PACKAGE, "greeting/data.txt": "data\n"})
    return folder


def site_packages(prefix: Path) -> Path:
    return prefix / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"


def install(
    prefix: Path, name: str, files: Mapping[str, str], *, direct_url: str | None = None
) -> None:
    """Put a distribution there, with its RECORD, as an installer does."""
    packages = site_packages(prefix)
    metadata = f"{name.lower()}-1.0.dist-info"
    texts = {
        **files,
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{metadata}/INSTALLER": "test",
        "../../../bin/greet": _SCRIPT.format(python=prefix / "bin" / "python"),
    }
    if direct_url is not None:
        texts[f"{metadata}/direct_url.json"] = direct_url
    rows = [f"{metadata}/RECORD,,"]
    for path, text in texts.items():
        target = Path(os.path.normpath(packages / path))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{path},sha256={digest.decode()},{len(text.encode())}")
        if path.startswith("../../../bin/"):
            target.chmod(0o755)
    (packages / metadata / "RECORD").write_text("\n".join(rows) + "\n")
