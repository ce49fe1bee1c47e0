import json
import wave
from pathlib import Path

import pytest
from audioloom_voices.demo.engine import Engine
from audioloom_voices.demo.isolated import call_each
from audioloom_voices.demo.make import check_voices, make
from audioloom_voices.demo.recipe import choose_voices, utterances
from audioloom_voices.errors import FolderTaken, VoicesAlike


def contents(folder: Path) -> dict[str, bytes]:
    """Every recording by its relative path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.wav")}


@pytest.mark.parametrize(
    "voices", [("en-us+m1", "en-us+zz9"), ("en-us+zz8", "en-us+zz9"), ("en+m7", "en", "en+nobody")]
)
def test_an_ignored_voice_variant_is_found(voices: tuple[str, ...]) -> None:
    """The engine gives the plain voice and no error; an "unseen voice" would have been seen."""
    with pytest.raises(VoicesAlike, match="silently ignores a variant"):
        check_voices(Engine(), voices)


@pytest.mark.parametrize("count", [5, 12])
def test_the_voices_of_the_demo_differ(count: int) -> None:
    """From each other and from the plain voices."""
    check_voices(Engine(), choose_voices(count))


def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Even if what lies there looks like our recordings."""
    (tmp_path / "happy").mkdir()
    (tmp_path / "happy" / "00-en-us-m1.wav").write_bytes(b"mine")
    with pytest.raises(FolderTaken, match="choose another folder"):
        make(tmp_path, sentences=1)
    assert contents(tmp_path) == {"happy/00-en-us-m1.wav": b"mine"}


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """It is not replaced."""
    (tmp_path / "out").write_text("mine")
    with pytest.raises(FolderTaken, match="found a file"):
        make(tmp_path / "out", sentences=1)


def test_a_rerun_leaves_nothing_of_the_last_settings(tmp_path: Path) -> None:
    """Two recipes in one folder would break its balance; foreign files in it stay."""
    make(tmp_path, sentences=3, voices=3)
    (tmp_path / "happy" / "notes.txt").write_text("mine")
    make(tmp_path, sentences=2, voices=2, seed=5)
    assert sorted(u.path for u in utterances(choose_voices(2), 2)) == sorted(contents(tmp_path))
    assert (tmp_path / "happy" / "notes.txt").read_text() == "mine"
    assert json.loads((tmp_path / ".audioloom-demo-voices" / "made.json").read_text())["seed"] == 5


def test_the_same_bytes_whatever_the_order_or_subset(tmp_path: Path) -> None:
    """Backwards, or only some of them: each file is what it is in the whole demo."""
    make(tmp_path / "whole", sentences=6)
    make(tmp_path / "part", sentences=2)
    whole, part = contents(tmp_path / "whole"), contents(tmp_path / "part")
    assert {path: whole[path] for path in part} == part

    backwards = list(utterances(choose_voices(5), 6))[::-1]
    spoken = call_each(Engine().say, backwards, at_once=3)
    assert {u.path: whole[u.path][44:] for u in backwards} == {
        u.path: samples for u, samples in zip(backwards, spoken, strict=True)
    }


def test_every_file_is_a_wav_with_speech_in_it(tmp_path: Path) -> None:
    """22.05 kHz mono 16 bit, header and content agree, all different, and the sum is told."""
    made = make(tmp_path, sentences=3)
    frames = 0
    for path in tmp_path.rglob("*.wav"):
        with wave.open(str(path)) as file:
            assert (22050, 1, 2) == (file.getframerate(), file.getnchannels(), file.getsampwidth())
            assert path.stat().st_size == 44 + 2 * file.getnframes()
            assert 1 < file.getnframes() / 22050 < 8
            frames += file.getnframes()
    assert made.files == len(set(contents(tmp_path).values())) == 24
    assert made.audio_seconds == frames / 22050
