"""Lays the recordings out as `<language>/<prompt>.wav`: fetch, unpack, sort, commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audioloom_voices.debian.apt import run
from audioloom_voices.debian.fetch import fetch, sha256
from audioloom_voices.debian.packages import DEFAULT_LANGUAGES, PACKAGES
from audioloom_voices.errors import UnexpectedContent
from audioloom_voices.output_folder import OutputFolder

_SOUNDS: Final = "usr/share/asterisk/sounds"


@dataclass(frozen=True)
class Laid:
    """What lies in the folder now: recordings by language."""

    folder: Path
    recordings: dict[str, int]


def lay_out(
    folder: Path,
    *,
    cache: Path,
    languages: Sequence[str] = DEFAULT_LANGUAGES,
    sources: Path | None = None,
) -> Laid:
    """Put the prompts of each language into `folder`.

    What an earlier run laid out there is replaced; other files there are left alone. A folder that
    was not there appears only when it is complete.

    Raises:
        FolderTaken: the folder holds something else.
        ToolMissing, RegistrySilent, PackageUnknown, NotVerified: from fetching.
        UnexpectedContent: a package does not hold what it used to.
    """
    output = OutputFolder(folder, "debian")
    output.refuse_foreign()
    debs = fetch([PACKAGES[language] for language in languages], cache, sources)
    packages: dict[str, dict[str, str]] = {}
    counts: dict[str, int] = {}
    with output.staging() as new:
        (new / output.marker).mkdir()
        for language in languages:
            package = PACKAGES[language]
            deb = debs[package]
            tree = unpack(deb, new.parent / language)
            licence = (tree / "usr/share/doc" / package / "copyright").read_bytes()
            (new / output.marker / f"{language}-copyright").write_bytes(licence)
            counts[language] = _move(find_voice(tree, deb), new / language)
            packages[package] = {"version": _version(deb), "sha256": sha256(deb)}
        output.commit(new, {"packages": packages})
    return Laid(folder, counts)


def unpack(deb: Path, folder: Path) -> Path:
    """Unpack a package without installing it; return the folder.

    Raises:
        UnexpectedContent: it does not unpack.
    """
    folder.mkdir()
    done = run(["dpkg-deb", "--extract", str(deb), "."], folder)
    if done.returncode != 0:
        raise UnexpectedContent(f"{deb} does not unpack: {done.stderr.strip()[:300]}; remove it")
    return folder


def find_voice(tree: Path, deb: Path) -> Path:
    """Return the one folder of an unpacked package that holds its speaker's recordings.

    Raises:
        UnexpectedContent: there is none, or more than one.
    """
    voices = [
        path for path in (tree / _SOUNDS).glob("*") if path.is_dir() and not path.is_symlink()
    ]
    if len(voices) != 1 or not any(voices[0].rglob("*.wav")):
        names = ", ".join(sorted(voice.name for voice in voices)) or "none"
        raise UnexpectedContent(
            f"expected one speaker's folder with .wav files in {_SOUNDS} of {deb}, found {names}"
        )
    return voices[0]


def _move(voice: Path, folder: Path) -> int:
    count = 0
    for path in sorted(voice.rglob("*.wav")):
        if path.is_file() and not path.is_symlink():  # a link could lead out of the package
            target = folder / path.relative_to(voice)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
            count += 1
    return count


def _version(deb: Path) -> str:
    return run(["dpkg-deb", "--field", str(deb), "Version"], deb.parent).stdout.strip()
