from __future__ import annotations

import json
import shutil
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
import soundfile
from audioloom_featurizer.commands.inspect import inspect
from audioloom_featurizer.settings import InspectSettings
from audioloom_featurizer.summary.render import as_lines
from audioloom_featurizer.summary.statistics import MOST_OF_A_SET, read_statistics
from audioloom_manifest.reader import read_manifest
from featurizer_work import RATE, features_of, run, scan, write_wav

LONG = {"windows": "all", "channels": "split"}


@pytest.fixture
def mixed(source: Path) -> Path:
    """Two stereo ones at another rate, one without a label, one silent, one of 2.5 s."""
    write_wav(source / "yes" / "s1-long.wav", 2.5, seed=20)
    noise = np.random.default_rng(1).normal(0, 0.1, (44100, 2))
    for name in ("no/s0-a.flac", "no/s0-b.flac"):
        soundfile.write(source / name, noise * (1 + name.count("b")), 44100)
    soundfile.write(source / "unnamed.wav", np.zeros(RATE), RATE)
    return source


def shown(place: Path, *words: str, **more: object) -> list[str]:
    asked = InspectSettings(manifest=str(place), **more)
    lines = list(inspect(asked).text)
    at = lines.index(words[0])
    return lines[at : at + len(words)]


def test_recordings_and_windows_are_counted(mixed: Path, root: Path) -> None:
    """By label, by group, and what has neither."""
    contents = read_statistics(features_of(mixed, root, **LONG))
    assert 11 == contents.recordings
    assert {"no": (5, 7), "yes": (5, 7)} == contents.labels
    assert (1, 1) == (contents.unlabelled, contents.ungrouped)
    assert ("s0", (3, 5)) == next(iter(contents.groups.items()))
    assert 10 == sum(recordings for recordings, _ in contents.groups.values())


def test_kinds_are_counted_once_a_recording(mixed: Path, root: Path) -> None:
    """Rates, channels, formats and flags, however many windows there are."""
    contents = read_statistics(features_of(mixed, root, **LONG))
    assert {8000: 9, 44100: 2} == contents.rates
    assert {1: 9, 2: 2} == contents.channels
    assert {"wav/pcm_16": 9, "flac/pcm_16": 2} == contents.formats
    assert {"silent": 1} == contents.flags


def test_lengths(mixed: Path, root: Path) -> None:
    """Of the whole recordings, not of what was taken of them."""
    lengths = read_statistics(features_of(mixed, root)).lengths
    assert (0.2, 2.5) == (lengths.shortest, lengths.longest)
    assert 0.6 == pytest.approx(lengths.median, abs=0.11)
    assert sum(n / 10 for n in range(2, 9)) + 2.5 + 1 + 1 + 1 == pytest.approx(lengths.total)
    assert (7, 4, 0, 0, 0, 0) == lengths.counts


def test_without_duplicates_there_is_no_such_section(source: Path, root: Path) -> None:
    """Nobody reads a section of zeros."""
    contents = read_statistics(features_of(source, root))
    assert (0, 0, ()) == (
        contents.duplicates.sets,
        contents.duplicates.recordings,
        contents.duplicates.examples,
    )
    assert not [line for line in as_lines(contents) if "duplicates" in line]


def test_copies_are_found_over_units(source: Path, root: Path) -> None:
    """Those that contradict each other first."""
    shutil.copy(source / "no" / "s1-take.wav", source / "no" / "s1-zz.wav")
    shutil.copy(source / "yes" / "s0-take.wav", source / "no" / "s9-was-yes.wav")
    for number in range(2 * MOST_OF_A_SET):
        shutil.copy(source / "yes" / "s2-take.wav", source / "yes" / f"s2-copy{number}.wav")
    found = read_statistics(features_of(source, root)).duplicates
    assert (3, 2 + 2 + 1 + 2 * MOST_OF_A_SET) == (found.sets, found.recordings)
    assert (1, 1) == (found.conflicting, found.across_groups)
    paths = [[copy.path for copy in some] for some in found.examples]
    assert ["no/s9-was-yes.wav", "yes/s0-take.wav"] == paths[0]
    assert ["no/s1-take.wav", "no/s1-zz.wav"] in paths
    assert [2, 2, MOST_OF_A_SET] == sorted(map(len, paths))


def test_a_conflict_is_seen_among_many_copies(source: Path, root: Path) -> None:
    """The one that differs may be the last of a hundred."""
    for number in range(12):
        shutil.copy(source / "no" / "s1-take.wav", source / "no" / f"s1-copy{number:02}.wav")
    shutil.copy(source / "no" / "s1-take.wav", source / "yes" / "s1-odd.wav")
    found = read_statistics(features_of(source, root)).duplicates
    assert 1 == found.conflicting
    assert {"no", "yes"} == {copy.label for copy in found.examples[0]}
    assert MOST_OF_A_SET == len(found.examples[0])


def test_different_targets_contradict_each_other_too(source: Path, root: Path) -> None:
    """A recording cannot be 1.5 and 2 at once; without any there is nothing to contradict."""
    for name in ("1.5", "2", "2.0"):
        write_wav(source / "same" / f"{name}.wav", seed=99)
    for pattern, conflicting in (("same/(?P<target>[0-9.]+)[.]wav", 1), ("(?P<group>.*)", 0)):
        recordings = str(scan(source, root, pattern=pattern).text)
        opened = read_manifest(str(run(recordings).text), "features")
        assert conflicting == read_statistics(opened).duplicates.conflicting


def test_inspect_shows_it_all(mixed: Path, root: Path) -> None:
    """In sections, after what the manifest says."""
    shutil.copy(mixed / "no" / "s1-take.wav", mixed / "yes" / "s1-was-no.wav")
    opened = features_of(mixed, root, **LONG)
    place = opened.folder.path
    labels = ("labels (2)", "  no   5 recordings, 7 windows", "  yes  6 recordings, 8 windows")
    rest = "  none: 1 recording"
    assert [*labels, rest] == shown(place, *labels, rest)
    rates = ("rates", "  8000 Hz   10", "  44100 Hz  2")
    assert list(rates) == shown(place, *rates)
    channels = ("channels", "  mono    10", "  stereo  2")
    assert list(channels) == shown(place, *channels)
    copies = (
        "duplicates, byte for byte",
        "  contents               1",
        "  recordings             2",
        "  with different labels  1",
        "  in several groups      0",
        "  such as no/s1-take.wav (no), yes/s1-was-no.wav (yes)",
    )
    assert list(copies) == shown(place, *copies)
    opened = features_of(mixed, root, digest="head")
    copies = ("duplicates, alike in size and first MiB",)
    assert list(copies) == shown(opened.folder.path, *copies)


def test_inspect_as_json(mixed: Path, root: Path) -> None:
    """Every group is there, whatever is shown to people."""
    opened = features_of(mixed, root)
    data = inspect(InspectSettings(manifest=str(opened.folder))).data
    contents = json.loads(json.dumps(data))["contents"]
    assert {"recordings": 3, "windows": 3} == contents["groups"]["s0"]
    assert {"sets": 0, "recordings": 0, "conflicting": 0, "across_groups": 0, "examples": []} == (
        contents["duplicates"]
    )
    assert [1.0, 10.0, 60.0, 600.0, 3600.0] == contents["lengths"]["under_seconds"]


def test_without_contents_the_features_are_not_read(source: Path, root: Path) -> None:
    """For archives where that takes minutes."""
    opened = features_of(source, root)
    for entry in opened.files("features"):
        Path(opened.folder.path, entry.path).unlink()
    asked = InspectSettings(manifest=str(opened.folder), contents=False)
    result = inspect(asked)
    assert {"location": ANY, "manifest": ANY} == result.data
    assert ["labels", "  no   3", "  yes  4"] == list(result.text)[-3:]


def test_terminal_codes_in_names_do_nothing(source: Path, root: Path) -> None:
    """A label is a folder's name, and that may hold anything."""
    write_wav(source / "x\x1b[2J" / "s1-a.wav")
    opened = features_of(source, root)
    lines = list(inspect(InspectSettings(manifest=str(opened.folder))).text)
    assert not [line for line in lines if not line.isprintable()]
