"""A registry on this machine's disk for each test."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from voices_registry import Registry


@pytest.fixture
def make_registry(tmp_path: Path) -> Callable[[], Registry]:
    """Make an empty registry; the test is skipped where there is no apt."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        pytest.skip("needs apt-get and dpkg-deb")

    def make() -> Registry:
        folder = tmp_path / "registry"
        folder.mkdir()
        (folder / "Packages").touch()
        (folder / "sources.list").write_text(f"deb [trusted=yes] copy:{folder} ./\n")
        return Registry(folder)

    return make


@pytest.fixture
def registry(make_registry: Callable[[], Registry]) -> Registry:
    """A registry with en, fr and ru: digits in common, ru without samples in `is`."""
    registry = make_registry()
    for language in ("en", "fr", "ru"):
        registry.add(
            language, {"digits/0": 800, "digits/1": 900, "is": 0 if language == "ru" else 9}
        )
    return registry
