"""Pictures of matrices as SVG: one path for each shade, so that large ones stay small."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from audioloom_runs.pages.markup import Markup, element, joined

# Viridis, which stays in order for colour-blind readers and in grey.
_COLOURS = (
    "#440154", "#421763", "#3f2c71", "#3d4280", "#39568b", "#32678b", "#2b788c", "#24898c",
    "#299886", "#39a77b", "#4ab670", "#5ac565", "#7ecf56", "#a8d746", "#d3df35", "#fde725",
)  # fmt: skip
_LAST = len(_COLOURS) - 1


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
        *(element("path", d="".join(path), fill=_COLOURS[n]) for n, path in sorted(paths.items())),
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
    shades = heat([[*range(_LAST + 1)]], (0, _LAST), label="shades", cell=(8, 10), class_="key")
    return element("p", joined(f"{low} ", shades, f" {high}"), class_="quiet")


def _shade(value: float | None, low: float, high: float) -> int | None:
    if value is None:
        return None
    share = (value - low) / (high - low) if high > low else 1.0
    return round(min(max(share, 0.0), 1.0) * _LAST)
