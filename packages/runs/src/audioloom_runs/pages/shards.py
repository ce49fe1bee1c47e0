"""The page of a shards run: the balance of the splits, of their labels and of their values."""

from collections.abc import Iterator, Mapping
from math import sqrt

from audioloom_manifest.kinds import ShardsManifest, SplitStats

from audioloom_runs.pages.charts import colour_keys, line_chart, meter
from audioloom_runs.pages.markup import Child, Markup, element, joined
from audioloom_runs.pages.parts import amounts, cut, facts, note, section, table, warning
from audioloom_runs.tables import size_text

_MOST_ROWS = 50
_MOST_SPLITS = 8
_FIRST = ("train", "val", "test")


def shards_sections(manifest: ShardsManifest) -> Markup:
    """Make the sections of a shards run, from its manifest alone."""
    splits, excluded = _ordered(manifest), manifest.stats.excluded
    learned = {name: each.targets for name, each in splits.items() if each.targets}
    rows = [(name, f"{t.mean:.4g}", f"{sqrt(t.variance):.4g}") for name, t in learned.items()]
    left_out = amounts(("reason", "windows"), excluded) if any(excluded.values()) else None
    curves = _coefficients(splits)
    return joined(
        section("Contents", facts(_contents(manifest))),
        section("Splits", *_splits(manifest)),
        section("Labels in each split", *_labels(manifest)) if manifest.stats.labels else None,
        section("Numbers to learn", table(("split", "mean", "deviation"), rows)) if rows else None,
        section("Values in each split", *curves) if curves else None,
        section("Windows left out", left_out or note("No window was left out.")),
    )


def _ordered(manifest: ShardsManifest) -> dict[str, SplitStats]:
    """Return the splits: train, val and test first, so that they have the colours of all pages."""
    splits = manifest.stats.splits
    return {name: splits[name] for name in dict.fromkeys((*_FIRST, *splits)) if name in splits}


def _contents(manifest: ShardsManifest) -> Iterator[tuple[str, str]]:
    recipe, stats = manifest.recipe, manifest.stats
    rows, frames = stats.feature.shape
    yield "feature", f"{stats.feature.name}, {rows:,} × {frames:,}, {stats.feature.dtype}"
    yield "records", f"{sum(each.records for each in stats.splits.values()):,}"
    yield "labels", f"{len(stats.labels):,}" if stats.labels else "none"
    by = "a pattern" if recipe.split_pattern else "group" if recipe.splits else "a table"
    yield "splits by", f"{by}, stratified by label" if recipe.stratify else by
    yield "resampling", recipe.resample
    yield "format", f"{recipe.format}, compression {recipe.compression}"


def _splits(manifest: ShardsManifest) -> list[Markup]:
    splits, wanted = _ordered(manifest), manifest.recipe.splits
    whole = sum(each.records for each in splits.values())
    rows = [
        (
            name,
            meter([each.records / whole]),
            f"{each.records:,}",
            f"{each.records / whole:.1%}",
            *((f"{wanted.get(name, 0):.1%}",) if wanted else ()),
            f"{each.recordings:,}",
            f"{each.groups:,}",
            f"{each.shards:,}",
            size_text(each.bytes),
        )
        for name, each in splits.items()
    ]
    head = ("split", "", "records", "share", *(("requested",) if wanted else ()))
    return [
        table((*head, "recordings", "groups", "shards", "size"), rows, words=2),
        note("No group lies in two splits. Shards of a split hold the same number of records ± 1."),
    ]


def _labels(manifest: ShardsManifest) -> list[Markup | None]:
    stats, splits = manifest.stats, _ordered(manifest)
    whole = sum(each.records for each in splits.values())
    wanted = manifest.recipe.splits or {n: each.records / whole for n, each in splits.items()}
    found = {}
    for label in stats.labels:
        counts = {name: each.labels.get(label, 0) for name, each in splits.items()}
        if total := sum(counts.values()):
            found[label] = total, {name: count / total for name, count in counts.items()}

    def distance(label: str) -> float:
        return max(abs(share - wanted.get(name, 0)) for name, share in found[label][1].items())

    weights = stats.class_weights or {}
    order = sorted(found, key=distance, reverse=True)
    target = {name: wanted.get(name, 0) for name in splits}
    first = element("b", "requested" if manifest.recipe.splits else "all labels")
    rows = [_row(first, target, "", "" if weights else None)]
    for label in order[:_MOST_ROWS]:
        total, shares = found[label]
        weight = f"{weights.get(label, 1):.3g}" if weights else None
        rows.append(_row(label, shares, f"{total:,}", weight))
    head = ("label", "", *[*splits][:_MOST_SPLITS], "records", *(("weight",) if weights else ()))
    return [
        colour_keys(splits),
        table(head, rows, words=2),
        cut(len(rows) - 1, len(stats.labels), "labels", "furthest from the first row"),
        *(
            warning(
                f"Labels without a record in {name}",
                [x for x in stats.labels if x not in each.labels],
            )
            for name, each in splits.items()
        ),
    ]


def _row(label: Child, shares: Mapping[str, float], total: str, weight: str | None) -> list[Child]:
    told = (f"{share:.1%}" for share in [*shares.values()][:_MOST_SPLITS])
    return [label, meter(shares.values()), *told, total, *([] if weight is None else [weight])]


def _coefficients(splits: Mapping[str, SplitStats]) -> list[Markup]:
    """Draw how far the values of each split are from those of the first, usually train."""
    known = {name: each.coefficients for name, each in splits.items() if each.coefficients}
    if len(known) < 2 or len({len(each.mean) for each in known.values()}) > 1:  # noqa: PLR2004
        return []
    first, base = next(iter(known.items()))
    spread = [sqrt(value) or 1.0 for value in base.variance]
    means, deviations = ({name: list[tuple[float, float]]() for name in known} for _ in range(2))
    for name, each in known.items():
        for at, (mean, variance) in enumerate(zip(each.mean, each.variance, strict=True)):
            means[name].append((at, (mean - base.mean[at]) / spread[at]))
            deviations[name].append((at, sqrt(variance) / spread[at]))
    charts = (
        line_chart(means, x="coefficient", y=f"mean, from that of {first}"),
        line_chart(deviations, x="coefficient", y=f"deviation, in those of {first}"),
    )
    text = (
        f"First: how far the mean of a coefficient is from that of {first}, in standard deviations"
        f" of {first}. Second: its standard deviation divided by that of {first}. Splits that hold"
        " the same kind of recordings stay near 0 and near 1."
    )
    return [element("div", *charts, class_="charts"), note(text)]
