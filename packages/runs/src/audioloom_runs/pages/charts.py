"""SVG of all pages: lines, a histogram, a reliability diagram, bars of shares, matrices."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby
from typing import Any

from audioloom_runs.pages.markup import Markup, element, joined
from audioloom_runs.pages.palette import COLOURS, MANY_COLOURS, SHADES

_WIDTH, _HEIGHT = 440.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, _WIDTH - 14.0, 12.0, _HEIGHT - 40.0
_BAR_WIDTH, _BAR_HEIGHT = 900.0, 30.0
_TICKS = 5
_BINS = 20
_HUGE = 1e150  # the width of an axis must be finite
_MARKED = 40

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class _Axis:
    """A range of values laid over a range of pixels."""

    low: float
    high: float
    start: float
    end: float
    step: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        first = math.ceil(self.low / self.step - 1e-9)
        last = math.floor(self.high / self.step + 1e-9)
        return [number * self.step for number in range(first, last + 1)]


def line_chart(
    lines: Mapping[str, Points], *, x: str, y: str, limits: tuple[float, float] | None = None
) -> Markup:
    """Draw lines over shared axes, with a legend; *limits* are those of the y axis.

    Points go from left to right; those that are huge or not finite are left out.
    """
    shown = {
        name: [point for point in line if all(abs(value) < _HUGE for value in point)]
        for name, line in lines.items()
    }
    points = [point for line in shown.values() for point in line]
    if not points:
        return element("p", "Nothing to draw.", class_="quiet")
    across = _axis([p[0] for p in points], _LEFT, _RIGHT, whole=True)
    up = _axis([*(limits or (p[1] for p in points))], _BOTTOM, _TOP, tight=limits)
    drawn = [
        _line(line, across, up, colour)
        for line, colour in zip(shown.values(), cycle(COLOURS), strict=False)
    ]
    return _figure(_frame(across, up, x, y), joined(*drawn), label=f"{y} over {x}", names=[*shown])


def reliability_chart(bins: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw accuracy over confidence: a bar below the diagonal is a model that is too confident."""
    across = _Axis(0.0, 1.0, _LEFT, _RIGHT, 0.2)
    up = _Axis(0.0, 1.0, _BOTTOM, _TOP, 0.2)
    most = max(each["records"] for each in bins)
    bars = []
    for number, each in enumerate(bins):
        if not each["records"]:
            continue
        left, right = across.at(number / len(bins)), across.at((number + 1) / len(bins))
        mean, high = across.at(each["confidence"]), up.at(each["accuracy"])
        title = f"{each['records']:,} records, confidence {each['confidence']:.3f}"
        bar = element(
            "rect",
            element("title", f"{title}, accuracy {each['accuracy']:.3f}"),
            x=left + 1,
            y=high,
            width=right - left - 2,
            height=up.at(0.0) - high,
            fill=COLOURS[0],
            fill_opacity=0.25 + 0.75 * each["records"] / most,  # pale: few records
        )
        dot = element("circle", cx=mean, cy=high, r=3, fill=COLOURS[1], stroke="#fff")
        bars += [bar, dot]
    diagonal = element("line", x1=_LEFT, y1=_BOTTOM, x2=_RIGHT, y2=_TOP, class_="diagonal")
    frame = _frame(across, up, "confidence", "accuracy")
    return _figure(frame, joined(*bars, diagonal), label="accuracy over confidence", names=[])


def histogram(values: Sequence[float], *, x: str, y: str) -> Markup:
    """Draw how many values lie in each of some 20 ranges; the last range holds the longest 1 %.

    *values* are at least one, and none is negative.
    """
    ordered = sorted(values)
    step = _round_up(max(ordered[math.ceil(0.99 * len(ordered)) - 1], 1e-3) / _BINS)
    counts = Counter(min(int(value / step), _BINS) for value in ordered)
    across = _axis([0.0, (max(counts) + 1) * step], _LEFT, _RIGHT)
    up = _axis([0.0, float(max(counts.values()))], _BOTTOM, _TOP, whole=True)
    bars = []
    for number, count in sorted(counts.items()):
        left, right, high = across.at(number * step), across.at((number + 1) * step), up.at(count)
        end = "more" if number == _BINS else f"{(number + 1) * step:g}"
        title = element("title", f"{number * step:g} to {end}: {count:,}")
        size = {"width": right - left - 1, "height": _BOTTOM - high}
        bars.append(element("rect", title, x=left + 0.5, y=high, fill=COLOURS[0], **size))
    return _figure(_frame(across, up, x, y), joined(*bars), label=f"{y} over {x}", names=[])


def meter(shares: Iterable[float]) -> Markup:
    """Draw shares of 1 as parts of a small bar for the cell of a table, whose text tells them."""
    left, drawn = 0.0, list[Markup]()
    for share, colour in zip(shares, cycle(MANY_COLOURS), strict=False):
        drawn.append(element("rect", x=100 * left, width=100 * share, height=10, fill=colour))
        left += share
    return element(
        "svg",
        *drawn,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
        class_="meter",
    )


def colour_keys(names: Iterable[str]) -> Markup:
    """Make the legend of bars: the colour of each name."""
    keys = zip(names, cycle(MANY_COLOURS), strict=False)
    return element("p", *(_legend(*key, height=9) for key in keys), class_="keys")


def share_bar(parts: Mapping[str, float], unit: str) -> Markup:
    """Draw amounts as parts of one bar, with a legend; a name keeps its colour if others are 0."""
    whole, left, drawn, legend = sum(parts.values()), 0.0, list[Markup](), list[Markup]()
    for (name, amount), colour in zip(parts.items(), cycle(MANY_COLOURS), strict=False):
        if not amount:
            continue
        told = f"{name} {amount:,.1f} {unit} ({amount / whole:.1%})"
        width = _BAR_WIDTH * amount / whole
        title, area = element("title", told), {"width": width, "height": _BAR_HEIGHT}
        drawn.append(element("rect", title, x=left, fill=colour, stroke="#fff", **area))
        legend.append(_legend(told, colour, height=9))
        left += width
    view = f"0 0 {_BAR_WIDTH:g} {_BAR_HEIGHT:g}"
    svg = element("svg", *drawn, viewBox=view, role="img", aria_label="shares of the wall time")
    return element("figure", svg, element("figcaption", *legend), class_="bar")


def _line(line: Points, across: _Axis, up: _Axis, colour: str) -> Markup:
    at = [(across.at(x), min(max(up.at(y), _TOP), _BOTTOM)) for x, y in line]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    drawn = element("polyline", points=points, fill="none", stroke=colour, stroke_width=2)
    if len(at) > _MARKED:
        return drawn
    return joined(drawn, *(element("circle", cx=x, cy=y, r=2.5, fill=colour) for x, y in at))


def _frame(across: _Axis, up: _Axis, x: str, y: str) -> Markup:
    rows = [(up.at(tick), _tick(tick, up)) for tick in up.ticks]
    return joined(
        *(element("line", x1=_LEFT, x2=_RIGHT, y1=at, y2=at, class_="grid") for at, _ in rows),
        *(_text(told, _LEFT - 6, at + 3.5, "end") for at, told in rows),
        *(_text(_tick(tick, across), across.at(tick), _BOTTOM + 15) for tick in across.ticks),
        element("line", x1=_LEFT, x2=_RIGHT, y1=_BOTTOM, y2=_BOTTOM, class_="axis"),
        _text(x, (_LEFT + _RIGHT) / 2, _HEIGHT - 6, class_="name"),
        _text(y, -(_TOP + _BOTTOM) / 2, 13, transform="rotate(-90)", class_="name"),
    )


def _text(text: str, x: float, y: float, anchor: str = "middle", **more: str) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, **more)


def _figure(frame: Markup, drawn: Markup, *, label: str, names: Sequence[str]) -> Markup:
    size = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    svg = element("svg", frame, drawn, viewBox=size, role="img", aria_label=label)
    named = zip(names, cycle(COLOURS), strict=False)
    legend = [_legend(name, colour, height=3) for name, colour in named]
    return element("figure", svg, element("figcaption", *legend) if legend else None)


def _legend(name: str, colour: str, *, height: float) -> Markup:
    key = element("rect", width=14, height=height, y=(9 - height) / 2, fill=colour)
    return element("span", element("svg", key, viewBox="0 0 14 9", class_="key"), name)


def _axis(
    values: Sequence[float],
    start: float,
    end: float,
    *,
    whole: bool = False,
    tight: tuple[float, float] | None = None,
) -> _Axis:
    """Make an axis that holds all values, with round or whole numbers as ticks."""
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(1.0, abs(high)):
        # Half of one is lost in a huge number.
        pad = max(abs(high) * 1e-6, 0.5) if whole else max(abs(high) * 0.1, 0.05)
        low, high = low - pad, high + pad
    step = _round_up((high - low) / _TICKS)
    step = max(1.0, step) if whole else step
    if tight is None and not whole:
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return _Axis(low, high, start, end, step)


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    steps = (factor * power for factor in (1.0, 2.0, 5.0, 10.0))
    return next(step for step in steps if step >= value * 0.999)


def _tick(value: float, axis: _Axis) -> str:
    places = max(0, -math.floor(math.log10(axis.step) + 1e-9))
    if places > 6:  # noqa: PLR2004
        return f"{value:.1e}"
    return f"{value + 0.0:,.{places}f}"


def heat(
    matrix: Sequence[Sequence[float | None]],
    limits: tuple[float, float],
    *,
    label: str,
    cell: tuple[float, float] = (1, 1),
    class_: str = "heat",
) -> Markup:
    """Draw a matrix, its first row at the bottom; None is not drawn.

    Args:
        matrix: rows of equal length.
        limits: the values of the darkest and of the brightest shade.
        label: what the picture shows, for those who cannot see it.
        cell: width and height of a value, in pixels if the class sets no other size.
        class_: of the picture.
    """
    low, high = limits
    wide, tall = cell
    paths: dict[int, list[str]] = defaultdict(list)
    for number, row in enumerate(reversed(matrix)):
        at = 0
        for shade, run in groupby(_shade(value, low, high) for value in row):
            length = len([*run])
            if shade is not None:
                paths[shade].append(f"M{at * wide:g} {number * tall:g}h{length * wide:g}v{tall:g}")
                paths[shade].append(f"h-{length * wide:g}z")
            at += length
    width, height = wide * len(matrix[0]), tall * len(matrix)
    return element(
        "svg",
        *(element("path", d="".join(path), fill=SHADES[n]) for n, path in sorted(paths.items())),
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_=class_,
    )


def heat_legend(low: str, high: str) -> Markup:
    """Draw all shades between the texts of the lowest and the highest value."""
    shades = heat(
        [[*range(len(SHADES))]], (0, len(SHADES) - 1), label="shades", cell=(8, 10), class_="key"
    )
    return element("p", joined(f"{low} ", shades, f" {high}"), class_="quiet")


def _shade(value: float | None, low: float, high: float) -> int | None:
    if value is None:
        return None
    share = (value - low) / (high - low) if high > low else 1.0
    return round(min(max(share, 0.0), 1.0) * (len(SHADES) - 1))
