import pickle
from typing import get_args

import pytest
from audioloom_audio import Kind, RefusedRecording


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
        "function_failed",
        "unsupported_codec",
    }

    assert expected == set(get_args(Kind))


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_refusal_survives_the_way_from_a_worker_process(kind: Kind) -> None:
    """Spark pickles what a task raises."""
    error = RefusedRecording(kind, "a/b.wav", expected="this", found="that")
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


def test_a_recording_without_a_name_is_called_recording() -> None:
    """An error never starts with a bare colon."""
    assert "recording: expected this, found that" == str(
        RefusedRecording("empty", "", expected="this", found="that")
    )
