"""The page of a features run: labels and groups, lengths, refusals, mean features, levels."""

from collections import Counter
from collections.abc import Iterator, Sequence

from audioloom_manifest.feature_sample import FeatureSample
from audioloom_manifest.kinds import FeaturesManifest
from audioloom_stage.escapes import safe_text

from audioloom_runs.pages.charts import heat, heat_legend, histogram, meter
from audioloom_runs.pages.markup import Child, Markup, element, joined
from audioloom_runs.pages.parts import amounts, cut, facts, note, section, table, warning
from audioloom_runs.tables import duration_text

_MOST_ROWS = 50
_MOST_GROUPS = 48
_NAMED = 5
_LONGEST = 1e9  # seconds that a file may claim
_LIMIT = 2.0  # standard deviations, the ends of the colours
_WITHOUT = "no label"


def features_sections(manifest: FeaturesManifest, sample: FeatureSample) -> Markup:
    """Make the sections of a features run; the sample says on how many windows they rest."""
    return joined(
        section("Contents", facts(_contents(manifest))),
        section("Labels and groups", *_labels(manifest, sample)),
        section("Lengths", *_lengths(manifest, sample)),
        section("Refused recordings", *_refusals(manifest, sample)),
        section("Mean feature of each label", *_pictures(manifest, sample)),
        section("Levels", *_levels(manifest, sample)) if sample.pictures else None,
        section("Flags", amounts(("flag", "windows"), sample.flags)) if sample.flags else None,
        section("What this page rests on", note(_basis(manifest, sample))),
    )


def _contents(manifest: FeaturesManifest) -> Iterator[tuple[str, str]]:
    recipe, stats = manifest.recipe, manifest.stats
    feature = recipe.feature
    rows, frames = feature.shape
    yield "feature", f"{feature.name}, {rows:,} × {frames:,}, {feature.dtype}"
    yield "sample rate", f"{feature.sample_rate:,} Hz"
    yield "windows", f"{stats.windows:,} ({recipe.windows} of each recording)"
    yield "recordings", f"{stats.extracted:,} used, {stats.refused:,} refused"
    if stats.audio_seconds:  # an imported table need not tell it
        yield "audio", duration_text(stats.audio_seconds)
    if stats.agreement:
        yield "agreement", f"{stats.agreement.library} within {stats.agreement.deviation:g}"


def _basis(manifest: FeaturesManifest, sample: FeatureSample) -> str:
    exact = "The counts of windows of each label and of refused recordings are those of the run. "
    if sample.files == sample.all_files and sample.windows == manifest.stats.windows:
        return f"{exact}All else was counted in all {sample.windows:,} windows."
    return (
        f"{exact}All else was counted in {sample.windows:,} of {manifest.stats.windows:,} windows,"
        f" from {sample.files:,} of {sample.all_files:,} files that are spread evenly over the run."
    )


def _labels(manifest: FeaturesManifest, sample: FeatureSample) -> list[Markup | None]:
    windows: Counter[str | None] = Counter(manifest.stats.labels)
    if (without := manifest.stats.windows - windows.total()) > 0:
        windows[None] = without
    if not windows:
        return [note("There are no windows.")]
    totals: Counter[str | None] = Counter()
    for each in sample.recordings.values():  # not `sum`, which copies the whole at every label
        totals.update(each)
    del totals[None]
    groups = [group for group, _ in totals.most_common(_MOST_GROUPS)]
    most = max((max(each.values()) for each in sample.recordings.values()), default=1)
    cell = (min(24.0, 336 / max(1, len(groups))), 14.0)
    shown = windows.most_common(_MOST_ROWS)
    rows: list[tuple[Child, ...]] = []
    for label, count in shown:
        found = sample.recordings.get(label, Counter())
        strip = [found.get(group) for group in groups]
        what = f"recordings of {_name(label)} in each group"
        rows.append(
            (
                _name(label),
                meter([count / max(1, shown[0][1])]),
                f"{count:,}",
                f"{found.total():,}",
                f"{len(found.keys() - {None}):,}",
                heat([strip], (1, most), label=what, cell=cell, class_="strip") if groups else None,
            )
        )
    named = [*sample.recordings.items()] if groups else []
    alone = [_name(label) for label, found in named if len(found) == 1 < found.total()]
    return [
        table(("label", "", "windows", "recordings", "groups", "each group"), rows, words=2),
        cut(len(shown), len(windows), "labels", "with most windows"),
        _about_groups(groups, totals, most),
        warning("Labels of a single group, which a model can learn instead of the label", alone),
    ]


def _about_groups(groups: Sequence[str | None], totals: Counter[str | None], most: int) -> Markup:
    if not groups:
        return note("No recording has a group, such as a speaker, so none can be kept together.")
    first = ", ".join(f"{group} ({totals[group]:,})" for group in groups[:_NAMED])
    text = (
        "A column of squares is a group; no square is no recording. From left to right the largest"
        f" {len(groups)} of {len(totals):,} groups: {first}{' …' if len(groups) > _NAMED else ''}"
    )
    return joined(note(text), heat_legend("1", f"{most:,} recordings") if most > 1 else None)


def _lengths(manifest: FeaturesManifest, sample: FeatureSample) -> list[Markup]:
    ordered = sorted(each for each in sample.seconds if 0 < each < _LONGEST)
    if not ordered:
        return [note("No recording tells its length.")]
    padding = 1 - sample.frames / (sample.windows * manifest.recipe.feature.shape[1])
    told = (
        f"{len(ordered):,} recordings: shortest {ordered[0]:,.2f} s, median"
        f" {ordered[len(ordered) // 2]:,.2f} s, longest {ordered[-1]:,.2f} s."
        f" {padding:.1%} of all frames are padding after the recorded samples."
    )
    chart = histogram(ordered, x="seconds", y="recordings")
    return [element("div", chart, class_="charts"), note(told)]


def _refusals(manifest: FeaturesManifest, sample: FeatureSample) -> list[Markup]:
    stats = manifest.stats
    named = Counter(stats.refusals).most_common()
    if not named:
        return [note("No recording was refused.")]
    most = max(1, named[0][1])
    rows = []
    for kind, count in named:
        examples = [
            element("p", element("b", safe_text(path)), f" {safe_text(message)}")
            for path, message in sample.refusals.get(kind, ())
        ]
        rows.append((kind, joined(*examples), f"{count:,}", meter([count / most])))
    share = f"{stats.refused / max(1, stats.recordings):.2%}"
    told = f"{stats.refused:,} of {stats.recordings:,} recordings were refused ({share})."
    return [
        table(("class", "examples", "recordings", ""), rows, words=2),
        note(f"{told} The ledger lists all of them."),
    ]


def _pictures(manifest: FeaturesManifest, sample: FeatureSample) -> list[Markup | None]:
    if not sample.pictures:
        return [note("No values were read: there are no windows, or one window is too large.")]
    feature = manifest.recipe.feature
    drawn = [
        element(
            "figure",
            heat(each.mean, (-_LIMIT, _LIMIT), label=f"mean {feature.name} of {_name(label)}"),
            element("figcaption", element("b", _name(label)), f" {each.windows:,} windows"),
        )
        for label, each in sample.pictures.items()
    ]
    labels = len(manifest.stats.labels)
    seconds = feature.parameters.get("window_seconds")
    time = f"time from left to right ({seconds:g} s)" if isinstance(seconds, float) else "frames"
    what = "the size of the samples" if feature.shape[0] == 1 else "the coefficients"
    text = (
        f"Upwards {what}, {time}. The colour is the distance of the label's mean from the"
        " mean over all labels drawn, in standard deviations of the coefficient. Padding is not"
        " drawn, and left out of the means."
    )
    return [
        element("div", *drawn, class_="pictures"),
        heat_legend(f"-{_LIMIT:g} or less", f"+{_LIMIT:g} or more"),
        note(text),
        cut(len(drawn), labels, "labels", "with most windows"),
    ]


def _levels(manifest: FeaturesManifest, sample: FeatureSample) -> list[Markup]:
    rows = [
        (_name(label), f"{each.windows:,}", *(f"{level:.4g}" for level in each.levels))
        for label, each in sample.pictures.items()
    ]
    normalised = manifest.recipe.feature.parameters.get("normalise") == "window"
    text = "5 %, half and 95 % of the recorded values lie below these values."
    if normalised:
        text += " Each window has mean 0 and deviation 1, so loudness is not in the values."
    return [table(("label", "windows read", "5 %", "median", "95 %"), rows), note(text)]


def _name(label: str | None) -> str:
    return _WITHOUT if label is None else label
