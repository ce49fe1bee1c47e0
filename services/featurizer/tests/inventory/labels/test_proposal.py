from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from audioloom_featurizer.inventory.labels.proposal import PathSample, propose_pattern
from featurizer_work import scan, write_wav
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text("ab1-_. \n", min_size=1, max_size=4).filter(lambda name: name.strip("."))
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=40, unique=True)


def paths(*forms: str, files: int = 4) -> list[str]:
    """Paths of several labels, groups and files."""
    return [
        form.format(label=label, group=group, file=file)
        for form in forms
        for label in ("en", "fr")
        for group in ("s1", "s2", "s3")
        for file in range(files)
    ]


@pytest.mark.parametrize(
    ("found", "pattern"),
    [
        (paths("{label}/{group}/{file}.wav"), "(?P<label>[^/]+)/(?P<group>[^/]+)/.*"),
        (paths("x/{label}/{group}/{file}.wav"), "[^/]+/(?P<label>[^/]+)/(?P<group>[^/]+)/.*"),
        (
            paths("{label}/{group}-{file}.wav"),
            "(?P<label>[^/]+)/(?:.*/)?(?P<group>[^/_-]+)[_-][^/]*",
        ),
        (paths("{label}/{group}x{file}.wav"), "(?P<label>[^/]+)/.*"),
        (paths("{group}_{file}{label}.wav"), "(?:.*/)?(?P<group>[^/_-]+)[_-][^/]*"),
        ([f"{number}.wav" for number in range(20)], None),
        ([f"all/{number}.wav" for number in range(20)], None),
        ([f"{number}/a.wav" for number in range(20)], None),
        ([], None),
    ],
)
def test_what_paths_show(found: list[str], pattern: str | None) -> None:
    """Folders of labels, folders or prefixes of speakers, and neither."""
    assert pattern == propose_pattern(found)


@given(PATHS)
def test_a_proposal_matches_what_it_was_made_of(found: list[str]) -> None:
    """Nearly all paths, and never with one label alone."""
    pattern = propose_pattern(found)
    if pattern is not None:
        matches = [match for path in found if (match := re.fullmatch(pattern, path))]
        assert len(matches) >= 0.9 * len(found)
        for name in re.compile(pattern).groupindex:
            assert len({match[name] for match in matches}) > 1


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(2, 40))
def test_a_sample_of_paths_is_bounded_and_even(sizes: list[int], most: int) -> None:
    """However many batches there are, and how large."""
    sample, count = PathSample(most), 0
    for size in sizes:
        sample.add([str(count + number) for number in range(size)])
        count += size
    taken = [int(path) for path in sample.paths]
    assert len(taken) <= most
    steps = {after - before for before, after in pairwise(taken)}
    assert len(steps) <= 1
    assert not count or taken[0] == 0


def test_a_scan_without_labels_proposes_some(source: Path, root: Path) -> None:
    """In a form to copy; and the option works."""
    for label in ("yes", "no"):
        for number in range(4):
            write_wav(source / label / f"s{number}-again.wav")
    found = scan(source, root, pattern=None).data["proposal"]
    assert "(?P<label>[^/]+)/(?:.*/)?(?P<group>[^/_-]+)[_-][^/]*" == found
    data = scan(source, root, pattern=found).data
    assert (data["recordings"], data["recordings"], None) == (
        data["labelled"], data["grouped"], data["proposal"],
    )  # fmt: skip
