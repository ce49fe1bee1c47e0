"""A small registry on this machine's disk: real packages, real apt, no network."""

import hashlib
import shutil
import subprocess
import wave
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Registry:
    """A folder that apt can use as a source."""

    folder: Path

    @property
    def sources(self) -> Path:
        """The sources file that names it."""
        return self.folder / "sources.list"

    def add(self, language: str, prompts: dict[str, int], speaker: str = "Somebody") -> None:
        """Add a package with recordings of so many frames each; as Debian's, `is` may have none."""
        package = f"asterisk-core-sounds-{language}-wav"
        tree = self.folder / f"{package}-tree"
        for name, frames in prompts.items():
            path = tree / "usr/share/asterisk/sounds" / speaker / f"{name}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            with wave.open(str(path), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes(f"{language}{name}".encode().ljust(2 * frames)[: 2 * frames])
        self.add_tree(package, tree)

    def add_tree(self, package: str, tree: Path) -> None:
        """Add a package that holds this tree."""
        control = f"Package: {package}\nVersion: 1.0-1\nArchitecture: all\n"
        control += "Maintainer: Nobody <nobody@localhost>\nDescription: made for a test\n"
        licence = tree / "usr/share/doc" / package / "copyright"
        licence.parent.mkdir(parents=True)
        licence.write_text(f"licence of {package}\n")
        (tree / "DEBIAN").mkdir()
        (tree / "DEBIAN" / "control").write_text(control)
        deb = self.folder / f"{package}_1.0-1_all.deb"
        command = ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(deb)]
        subprocess.run(command, check=True, capture_output=True)
        shutil.rmtree(tree)
        content = deb.read_bytes()
        with (self.folder / "Packages").open("a") as listing:
            digest = hashlib.sha256(content).hexdigest()
            listing.write(f"{control}Filename: ./{deb.name}\nSize: {len(content)}\n")
            listing.write(f"SHA256: {digest}\n\n")

    def damage(self, language: str) -> None:
        """Change one byte of a package after it was listed."""
        deb = self.folder / f"asterisk-core-sounds-{language}-wav_1.0-1_all.deb"
        content = bytearray(deb.read_bytes())
        content[-1] ^= 1
        deb.write_bytes(content)


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
