from typing import Any

import pytest
from audio_settings import settings_of
from audioloom_audio import BadSettings, RawFormat


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sample_rate", 0),
        ("sample_rate", 999),
        ("window_seconds", 0.0),
        ("window_seconds", 1e-9),
        ("window_seconds", float("nan")),
        ("n_fft", 1),
        ("n_fft", 2047),
        ("hop_length", 0),
        ("hop_length", 2049),
        ("n_mels", 0),
        ("n_mels", 1025),
        ("fmin", -1.0),
        ("fmin", 8001.0),
        ("fmax", 8001.0),
        ("fmax", 0.0),
        ("n_mfcc", 0),
        ("n_mfcc", 129),
        ("top_db", 0.0),
        ("windows", "some"),
        ("channels", "center"),
        ("normalise", "recording"),
        ("dtype", "float64"),
        ("engine", "torch"),
    ],
)
def test_a_setting_outside_its_range_is_refused_by_name(field: str, value: object) -> None:
    """The message names the setting, what is allowed and what was given."""
    given: dict[str, Any] = {field: value}

    with pytest.raises(BadSettings, match=f"^{field}: expected .*, found {value!r}$"):
        settings_of(**given)


def test_the_defaults_make_the_shape_that_everything_downstream_knows() -> None:
    """40 coefficients, 313 frames, 10 seconds."""
    settings = settings_of()

    assert (40, 313) == settings.shape
    assert 160000 == settings.window.samples
    assert 160000 == settings.hop_samples


def test_a_window_is_a_whole_number_of_samples() -> None:
    """Where windows begin is counted in samples, so that it cannot drift."""
    settings = settings_of(sample_rate=8000, window_seconds=0.3333)

    assert 2666 == settings.window.samples
    assert 2666 == settings.hop_samples
    assert (40, 6) == settings.shape


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"coding": "g729"}, "coding"),
        ({"coding": "alaw", "sample_rate": 0}, "sample_rate"),
        ({"coding": "alaw", "channels": 0}, "channels"),
        ({"coding": "gsm", "channels": 2}, "channels"),
    ],
)
def test_a_headerless_format_that_cannot_be_is_refused(changes: dict[str, Any], field: str) -> None:
    """By the name of the setting."""
    with pytest.raises(BadSettings, match=f"^{field}: expected .*, found "):
        RawFormat(**changes)
