"""`diff`: show what differs between two finished runs of one kind."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from audioloom_manifest.reader import read_manifest
from audioloom_runs.differences import Difference, run_differences
from audioloom_runs.tables import facts, table, value_text
from audioloom_stage.errors import Usage
from audioloom_stage.escapes import shortened
from audioloom_stage.result import JSON, Result, result_columns

from audioloom.settings import DiffSettings

_SHOWN = {"kind", "name", "identity"}
_MOST_ROWS = 40
_MOST_TEXT, _LEAST_TEXT = 60, 16
_MOST_DIGEST = 16
_FOR_KEYS = 40
"""Columns of a terminal that sections and keys take, about."""


def diff(settings: DiffSettings) -> Result:
    """Compare two runs by their manifests, and the manifests of their inputs.

    Raises:
        ManifestError: a run is not finished, or its manifest is damaged.
        Usage: the runs are of different kinds.
    """
    first, second = read_manifest(settings.first), read_manifest(settings.second)
    kind, other = first.manifest.kind, second.manifest.kind
    if kind != other:
        raise Usage(
            where=f"{first.folder} and {second.folder}",
            expected="two runs of one stage",
            found=f"one of {kind} and one of {other}",
            hint="audioloom site shows the runs of all stages, and which was made from which.",
        )
    equal = first.manifest.identity == second.manifest.identity
    found = run_differences(first, second)
    both = {"A": first, "B": second}
    verdict = "The results are equal: recipe, inputs and files are the same."
    parts = [
        facts({name: str(each.folder) for name, each in both.items()}),
        table(("", "", *both), [*_rows(found)], columns=result_columns()) if found else "",
        verdict if equal else "The results differ.",
    ]
    data: dict[str, JSON] = {
        "runs": {
            name: {"location": str(each.folder), **each.manifest.model_dump(include=_SHOWN)}
            for name, each in both.items()
        },
        "equal": equal,
        "differences": [
            {"section": each.section, "key": each.key, "A": each.before, "B": each.now}
            for each in found
        ],
    }
    return Result("\n\n".join(part for part in parts if part), data)


def _rows(found: Sequence[Difference]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each difference, as many as a person reads of each section."""
    for section, each in groupby(found, key=lambda one: one.section):
        rows = [(one.key, *_texts(one)) for one in each]
        if more := rows[_MOST_ROWS:]:
            rows[_MOST_ROWS:] = [(f"and {len(more):,} more", "", "")]
        yield from ((section if at == 0 else "", *row) for at, row in enumerate(rows))


def _texts(each: Difference) -> tuple[str, str]:
    """The values for people, and more of them if they look alike."""
    columns = result_columns()
    most = _MOST_TEXT if columns is None else max(_LEAST_TEXT, (columns - _FOR_KEYS) // 2)
    if each.key.endswith(("identity", "sha256")):
        most = _MOST_DIGEST
    pair = each.before, each.now
    first, second = ("" if one is None else value_text(one) for one in pair)
    if first == second:
        first, second = map(str, pair)
    return shortened(first, most), shortened(second, most)
