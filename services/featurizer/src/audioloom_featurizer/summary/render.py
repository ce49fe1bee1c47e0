"""Render the statistics of a run as text lines and as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from audioloom_runs.tables import duration_text, facts
from audioloom_stage.escapes import printable

from audioloom_featurizer.summary.statistics import (
    LENGTHS,
    Copy,
    Duplicates,
    Lengths,
    RunStatistics,
)

MOST_SHOWN = 20

_LAYOUTS = {1: "mono", 2: "stereo"}
_KINDS = ("under 1 s", "1 to 10 s", "10 to 60 s", "1 to 10 min", "10 to 60 min", "1 h and more")


def as_lines(contents: RunStatistics, digest: str = "whole") -> Iterator[str]:
    """Format the statistics as sections of aligned lines; long sections are cut.

    The *digest* of the recipe says how much of a recording is known of copies.

    An imported table need not tell lengths, rates and channels: they are 0, and left out.
    """
    yield from _named("labels", contents.labels, contents.unlabelled, contents.recordings)
    yield from _named("groups", contents.groups, contents.ungrouped, contents.recordings)
    yield from section("lengths", _lengths(contents.lengths))
    yield from section("padding", [("share of all frames", f"{contents.padding:.1%}")])
    yield from section("rates", ((f"{r} Hz", n) for r, n in contents.rates.items() if r))
    known = ((n, count) for n, count in contents.channels.items() if n)
    layouts = ((_LAYOUTS.get(n, f"{n} channels"), count) for n, count in known)
    yield from section("channels", layouts)
    yield from section("formats", contents.formats.items())
    yield from section("flags", contents.flags.items())
    yield from _duplicates(contents.duplicates, digest)


def as_json(contents: RunStatistics) -> dict[str, Any]:
    """Format the complete statistics as one JSON object."""
    found = asdict(contents)
    for name in ("labels", "groups"):
        found[name] = {
            key: {"recordings": recordings, "windows": windows}
            for key, (recordings, windows) in found[name].items()
        }
    for name in ("rates", "channels"):
        found[name] = {str(key): count for key, count in found[name].items()}
    found["lengths"]["under_seconds"] = list(LENGTHS)
    return found


def section(title: str, items: Iterable[tuple[str, object]]) -> Iterator[str]:
    """Format a title and aligned pairs; yield nothing if there are no pairs."""
    named = {key: str(value) for key, value in items}
    if named:
        yield title
        yield from (f"  {line}" for line in facts(named).splitlines())


def cut_section(title: str, pairs: list[tuple[str, Any]]) -> Iterator[str]:
    """Format a section of the first pairs, and say how many more there are."""
    yield from section(title, pairs[:MOST_SHOWN])
    if len(pairs) > MOST_SHOWN:
        yield f"  and {len(pairs) - MOST_SHOWN} more"


def _named(
    title: str, counts: Mapping[str, tuple[int, int]], without: int, recordings: int
) -> Iterator[str]:
    if without == recordings:
        yield from section(title, [("none", "")])
        return
    pairs = [(name, _of(*found)) for name, found in counts.items()]
    yield from cut_section(f"{title} ({len(pairs)})", pairs)
    if without:
        yield f"  none: {_of(without, None)}"


def _of(recordings: int, windows: int | None) -> str:
    of = f"{recordings} recording{'s' * (recordings != 1)}"
    return of if windows is None else f"{of}, {windows} window{'s' * (windows != 1)}"


def _lengths(lengths: Lengths) -> Iterator[tuple[str, object]]:
    if not lengths.total:
        return
    yield "shortest", f"{lengths.shortest:.3f} s"
    yield "median", f"{lengths.median:.3f} s"
    yield "longest", f"{lengths.longest:.3f} s"
    yield "together", duration_text(lengths.total)
    yield from ((kind, n) for kind, n in zip(_KINDS, lengths.counts, strict=True) if n)


def _duplicates(found: Duplicates, digest: str) -> Iterator[str]:
    if not found.sets:
        return
    counts = {
        "contents": found.sets,
        "recordings": found.recordings,
        "with different labels": found.conflicting,
        "in several groups": found.across_groups,
    }
    alike = "byte for byte" if digest == "whole" else "alike in size and first MiB"
    yield from section(f"duplicates, {alike}", counts.items())
    yield from (f"  such as {', '.join(map(_copy, some))}" for some in found.examples)


def _copy(copy: Copy) -> str:
    label = "no label" if copy.label is None else printable(str(copy.label))
    return f"{printable(copy.path)} ({label})"
