"""A real browser without a window, for pages that people will open."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def _browse(page: Path, folder: Path, *words: str) -> str:
    command = [
        *(_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--hide-scrollbars", f"--user-data-dir={folder / 'profile'}", *words, page.as_uri()),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return ran.stdout


def _browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        what = "no browser here to open the page with: apt-get install chromium"
        pytest.fail(what) if os.environ.get("CI") else pytest.skip(what)
    return found


def document(page: Path, folder: Path) -> str:
    """The document after everything in the page that could run has run."""
    return _browse(page, folder, "--dump-dom")


def screenshot(page: Path, folder: Path) -> bytes:
    """A picture of the page, PNG."""
    target = folder / "page.png"
    _browse(page, folder, f"--screenshot={target}", "--window-size=1100,2400")
    return target.read_bytes()
