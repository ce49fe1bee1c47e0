"""A small registry on this machine's disk: real packages, real apt, no network."""

import hashlib
import shutil
import subprocess
import wave
from dataclasses import dataclass
from pathlib import Path


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
