import array
import ctypes
from dataclasses import replace
from pathlib import Path

import espeakng_loader
import pytest
from audioloom_voices.demo.engine import Engine
from audioloom_voices.demo.isolated import call_each
from audioloom_voices.demo.recipe import Utterance
from audioloom_voices.errors import EngineMissing, SynthesisFailed

PLAIN = Utterance("neutral", 0, "en-us", "The boats come back.", 170, 50, "medium", 100, 0)


@pytest.fixture(scope="module")
def engine() -> Engine:
    """One loaded library for the module; it speaks only in forked processes."""
    return Engine()


def say(engine: Engine, *utterances: Utterance) -> list[bytes]:
    """Each utterance from the same starting state."""
    return list(call_each(engine.say, utterances, at_once=2))


def test_an_unknown_language_is_refused(engine: Engine) -> None:
    """The engine would go on in the voice it had before."""
    with pytest.raises(SynthesisFailed, match="no voice 'xx'"):
        say(engine, replace(PLAIN, voice="xx"))


def test_missing_data_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check the library ends the process."""
    monkeypatch.setattr(espeakng_loader, "get_data_path", lambda: str(tmp_path))
    with pytest.raises(EngineMissing, match="found no phontab"):
        Engine()


def test_a_missing_library_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text names what is missing and how to get it."""
    monkeypatch.setattr(espeakng_loader, "get_library_path", lambda: str(tmp_path / "none.so"))
    with pytest.raises(EngineMissing, match=r"none\.so.*espeakng-loader"):
        Engine()


def test_the_sample_rate_is_the_documented_one(engine: Engine) -> None:
    """22.05 kHz, as the README says."""
    assert engine.sample_rate == 22050


def test_speech_is_not_silence(engine: Engine) -> None:
    """About a second of it, with a peak that can be heard."""
    (spoken,) = say(engine, PLAIN)
    samples = array.array("h", spoken)
    assert 0.5 < len(samples) / 22050 < 3
    assert max(samples) > 3000


def test_every_setting_of_a_class_is_heard(engine: Engine) -> None:
    """Faster is shorter, louder has the higher peak, gaps lengthen, pitch and range change."""
    plain, fast, loud, gaps, high, lively = say(
        engine,
        PLAIN,
        replace(PLAIN, rate=300),
        replace(PLAIN, amplitude=150),
        replace(PLAIN, gap=10),
        replace(PLAIN, pitch=90),
        replace(PLAIN, pitch_range="x-high"),
    )
    assert len(fast) < 0.8 * len(plain)
    assert max(array.array("h", loud)) > 1.2 * max(array.array("h", plain))
    assert len(gaps) > 1.1 * len(plain)
    assert plain not in (high, lively)
    assert high != lively


def test_noise_in_the_voice_does_not_hang_on_the_time(engine: Engine) -> None:
    """The engine seeds it with the second it starts in; f2 and some others breathe."""

    def say_seeded(seed: int) -> bytes:
        engine.library.espeak_ng_SetRandSeed(ctypes.c_long(seed))
        engine.library.srand(seed)
        return engine.say(replace(PLAIN, voice="en-us+f2"))

    assert 1 == len(set(call_each(say_seeded, range(5), at_once=2)))


def test_the_same_utterance_has_the_same_bytes_whatever_was_said_before(engine: Engine) -> None:
    """Forked each time; in one process the second would differ."""
    first, _, again = say(engine, PLAIN, replace(PLAIN, text="Something else!"), PLAIN)
    assert first == again
