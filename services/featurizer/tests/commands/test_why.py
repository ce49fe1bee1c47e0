from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audioloom_featurizer.commands.why import explain
from audioloom_featurizer.settings import RunSettings
from audioloom_manifest.errors import MissingManifest
from featurizer_work import run, scan, write_wav


def why(recordings: str, **more: Any) -> Any:
    """The answer for the settings of `run` in these tests."""
    given: dict[str, Any] = {"unit_recordings": 3, "window_seconds": 1.0, **more}
    return explain(RunSettings(recordings=recordings, **given))


def lines(answer: Any) -> list[str]:
    return str(answer.text).splitlines()


def test_missing_recordings_are_told(tmp_path: Path) -> None:
    """As `run` tells it."""
    with pytest.raises(MissingManifest):
        why(str(tmp_path / "nothing"))


def test_the_same_settings_need_no_run(source: Path, root: Path) -> None:
    """The answer names the run that is there, and nothing is written."""
    recordings = str(scan(source, root).text)
    made = run(recordings).text
    before = sorted(root.rglob("*"))
    assert f"already there: {made}" == lines(why(recordings))[0]
    assert before == sorted(root.rglob("*"))


def test_a_setting_is_told_by_its_option(source: Path, root: Path) -> None:
    """Also where it was left to its default."""
    recordings = str(scan(source, root).text)
    run(recordings, sample_rate=8000, raw_format="alaw")
    told = lines(why(recordings, dtype="float16"))
    assert {
        "  --sample-rate is 16000 by default; it was 8000",
        "  --dtype is float16; it was float32",
        "  --raw-format is not set; it was alaw",
        "  --raw-rate is not set; it was 8000",
    } <= {*told}


def test_recordings_that_changed_are_told(source: Path, root: Path) -> None:
    """New ones, changed ones and those that are gone, with their paths."""
    run(str(scan(source, root, name="before").text))
    write_wav(source / "no" / "s8-new.wav")
    write_wav(source / "no" / "s9-new.wav")
    write_wav(source / "yes" / "s0-take.wav", 0.9)
    (source / "no" / "s1-take.wav").unlink()
    answer = why(str(scan(source, root, name="now").text))
    told = lines(answer)
    assert "the input recordings is now (" in told[2]
    assert "  recordings.recordings is 8; it was 7" in told
    details = [
        "recordings that are new: 2 (no/s8-new.wav, no/s9-new.wav)",
        "recordings that are changed: 1 (yes/s0-take.wav)",
        "recordings that are gone: 1 (no/s1-take.wav)",
    ]
    assert [f"  {each}" for each in details] == told[-3:]
    assert details == answer.data["details"]


def test_recordings_of_another_source_are_not_compared(source: Path, root: Path) -> None:
    """Their paths are relative to it, so equal paths would mean nothing."""
    run(str(scan(source, root).text))
    elsewhere = source.with_name("elsewhere")
    source.rename(elsewhere)
    answer = why(str(scan(elsewhere, root).text))
    assert [] == answer.data["details"]
    assert any("recordings.source is file://" in each for each in lines(answer))


def test_the_command_takes_the_options_of_run(source: Path, root: Path, command: Any) -> None:
    """And prints the answer, or one JSON object."""
    recordings = str(scan(source, root).text)
    run(recordings)
    words = (recordings, "--master", "local[1]", "--unit-recordings", "3", "--n-mfcc", "20")
    ran = command("why", *words)
    assert 0 == ran.returncode
    assert "the shape of a window (coefficients, frames) is 20, 313; it was 40, 32" in ran.stdout
    assert "--window-seconds is 10 by default; it was 1" in ran.stdout
