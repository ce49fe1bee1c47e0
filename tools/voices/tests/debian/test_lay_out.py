import json
import re
import wave
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_voices.debian.command import PATTERN
from audioloom_voices.debian.fetch import default_cache
from audioloom_voices.debian.lay_out import lay_out
from audioloom_voices.debian.packages import DEFAULT_LANGUAGES
from audioloom_voices.errors import FolderTaken, RegistrySilent, UnexpectedContent
from voices_registry import Registry


def recordings(folder: Path) -> list[str]:
    """Every recording's path below the folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.wav"))


def test_a_folder_of_somebody_else_is_refused_before_anything_is_fetched(
    registry: Registry, tmp_path: Path
) -> None:
    """Nobody waits for a download to be told so."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(FolderTaken):
        lay_out(tmp_path / "out", cache=tmp_path / "cache", sources=registry.sources)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("speakers", [[], ["One", "Other"]])
def test_a_package_that_holds_something_else(
    speakers: list[str], make_registry: Callable[[], Registry], tmp_path: Path
) -> None:
    """A new version may lie differently: better no folder than one without its label's files."""
    registry = make_registry()
    tree = tmp_path / "tree"
    for speaker in speakers:
        (tree / "usr/share/asterisk/sounds" / speaker).mkdir(parents=True)
        (tree / "usr/share/asterisk/sounds" / speaker / "hello.wav").touch()
    registry.add_tree("asterisk-core-sounds-en-wav", tree)
    with pytest.raises(UnexpectedContent, match=", ".join(speakers) or "found none"):
        lay_out(
            tmp_path / "out", cache=tmp_path / "cache", languages=["en"], sources=registry.sources
        )
    assert not (tmp_path / "out").exists()


def test_a_link_in_a_package_is_not_followed(
    make_registry: Callable[[], Registry], tmp_path: Path
) -> None:
    """It could lead to any file of the machine."""
    registry = make_registry()
    voice = tmp_path / "tree" / "usr/share/asterisk/sounds/Somebody"
    voice.mkdir(parents=True)
    (voice / "hello.wav").write_bytes(b"RIFF")
    (voice / "passwords.wav").symlink_to("/etc/passwd")
    registry.add_tree("asterisk-core-sounds-en-wav", tmp_path / "tree")
    laid = lay_out(
        tmp_path / "out", cache=tmp_path / "cache", languages=["en"], sources=registry.sources
    )
    assert laid.recordings == {"en": 1}
    assert recordings(tmp_path / "out") == ["en/hello.wav"]


def test_recordings_lie_by_language_and_prompt(registry: Registry, tmp_path: Path) -> None:
    """With licences and versions beside them, out of sight of a listing of data."""
    laid = lay_out(tmp_path / "out", cache=tmp_path / "cache", sources=registry.sources)
    prompts = ("digits/0", "digits/1", "is")
    expected = [f"{language}/{prompt}.wav" for language in DEFAULT_LANGUAGES for prompt in prompts]
    assert recordings(tmp_path / "out") == expected
    assert laid.recordings == {"en": 3, "fr": 3, "ru": 3}
    marker = tmp_path / "out" / ".audioloom-debian-voices"
    assert (marker / "fr-copyright").read_text() == "licence of asterisk-core-sounds-fr-wav\n"
    packages = json.loads((marker / "made.json").read_text())["packages"]
    assert packages["asterisk-core-sounds-en-wav"]["version"] == "1.0-1"


def test_a_relative_folder_is_below_the_working_folder(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unpacker runs in a folder of its own, and does not look for this one there."""
    monkeypatch.chdir(tmp_path)
    lay_out(Path("new/out"), cache=tmp_path / "cache", languages=["en"], sources=registry.sources)
    expected = ["en/digits/0.wav", "en/digits/1.wav", "en/is.wav"]
    assert recordings(tmp_path / "new/out") == expected


def test_the_recording_without_samples_is_kept(registry: Registry, tmp_path: Path) -> None:
    """44 bytes, as Debian ships it: coping with it is the pipeline's task, not ours."""
    lay_out(tmp_path / "out", cache=tmp_path / "cache", sources=registry.sources)
    assert (tmp_path / "out" / "ru" / "is.wav").stat().st_size == 44


def test_other_languages_replace_the_first_ones(registry: Registry, tmp_path: Path) -> None:
    """No label of the last run stays in the folder."""
    out, cache = tmp_path / "out", tmp_path / "cache"
    lay_out(out, cache=cache, languages=["en", "fr"], sources=registry.sources)
    lay_out(out, cache=cache, languages=["ru"], sources=registry.sources)
    assert {path.partition("/")[0] for path in recordings(out)} == {"ru"}


@pytest.mark.slow
def test_debians_own_packages(tmp_path: Path) -> None:
    """All 1,705 recordings of the three languages; 55 MB once, then from the user's cache."""
    try:
        lay_out(tmp_path / "out", cache=default_cache())
    except RegistrySilent as error:
        pytest.skip(str(error))
    matches = [re.fullmatch(PATTERN, path) for path in recordings(tmp_path / "out")]
    groups: dict[str, set[str]] = {language: set() for language in DEFAULT_LANGUAGES}
    for match in matches:
        assert match is not None
        groups[match["label"]].add(match["group"])
    assert {"en": 568, "fr": 561, "ru": 576} == {lang: len(names) for lang, names in groups.items()}
    assert len(groups["en"] & groups["fr"] & groups["ru"]) == 554
    assert "digits/0" in groups["en"]

    seconds, empty = 0.0, []
    for path in (tmp_path / "out").rglob("*.wav"):
        with wave.open(str(path)) as file:
            assert (8000, 1, 2) == (file.getframerate(), file.getnchannels(), file.getsampwidth())
            seconds += file.getnframes() / 8000
            if not file.getnframes():
                empty.append(path.relative_to(tmp_path / "out").as_posix())
    assert empty == ["ru/is.wav"]
    assert 76 < seconds / 60 < 77
