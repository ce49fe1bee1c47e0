import pickle
from typing import get_args

import audioloom_audio
import pytest
from audioloom_audio import Kind, RefusedRecording, UnsupportedCodec


def _refusals() -> list[type[RefusedRecording]]:
    return RefusedRecording.__subclasses__()


def test_the_kinds_are_these_and_stay_so() -> None:
    """Ledgers count by them: a renamed kind would split a series in two."""
    expected = {
        "bad_channels",
        "bad_header",
        "bad_rate",
        "damaged",
        "empty",
        "non_finite",
        "not_audio",
        "out_of_range",
        "unsupported_codec",
    }

    assert expected == {refusal.kind for refusal in _refusals()} == set(get_args(Kind))
    assert len(expected) == len(_refusals())


@pytest.mark.parametrize("refusal", _refusals(), ids=lambda refusal: refusal.kind)
def test_a_refusal_survives_the_way_from_a_worker_process(
    refusal: type[RefusedRecording],
) -> None:
    """Spark pickles what a task raises."""
    error = refusal("a/b.wav", expected="this", found="that")
    error.add_note("seen in a worker")

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - made two words ago

    assert type(error) is type(copy)
    assert "a/b.wav: expected this, found that" == str(copy)
    assert (error.kind, error.name, error.expected, error.found) == (
        copy.kind,
        copy.name,
        copy.expected,
        copy.found,
    )
    assert ["seen in a worker"] == copy.__notes__


def test_the_tag_of_an_unsupported_codec_survives_too() -> None:
    """It is what an operator looks up."""
    error = UnsupportedCodec("x", expected="this", found="that", tag=0x55)

    assert 0x55 == pickle.loads(pickle.dumps(error)).tag  # noqa: S301 - made just above


def test_a_recording_without_a_name_is_called_recording() -> None:
    """An error never starts with a bare colon."""
    assert "recording: expected this, found that" == str(
        RefusedRecording("", expected="this", found="that")
    )


def test_every_error_is_exported() -> None:
    """What can be raised can be caught by a public name."""
    names = {refusal.__name__ for refusal in _refusals()}

    assert names <= set(audioloom_audio.__all__)
