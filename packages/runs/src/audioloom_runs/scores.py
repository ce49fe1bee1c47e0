"""Format the scores of a training for people: a table, a line, and the end of a run."""

from collections.abc import Mapping

import structlog
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened

from audioloom_runs.tables import duration_text, table

_BASELINES = ("chance", "majority", "mse_of_mean")
_TINY, _HUGE = 1e-3, 1e6

log = structlog.get_logger()


def tell_scores(opened: Opened[TrainingRunManifest], seconds: float | None = None) -> None:
    """Log the scores of a committed run beside those of guessing, its time, and its report."""
    for split, scores in opened.manifest.stats.scores.items():
        # In one value: a metric may have the name of another one of the line.
        told = f"{split}: {score_line(scores)}"
        log.info("scores", readable=told, split=split, scores=dict(scores))
    report = next((str(opened.folder / file.path) for file in opened.files("report")), "")
    took, after = {}, ""
    if seconds is not None:
        took, after = {"seconds": round(seconds, 1)}, f" after {duration_text(seconds)}"
    log.info(
        "committed",
        readable=f"committed{after}; the report: {report}",
        manifest=str(opened.location),
        report=report,
        **took,
    )


def score_table(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Format scores as a text table: one line a split, one column a score."""
    names = list(dict.fromkeys(name for found in scores.values() for name in found))
    rows = [
        (split, *(score_text(found[name]) if name in found else "" for name in names))
        for split, found in scores.items()
    ]
    return table(("split", *names), rows)


def score_line(scores: Mapping[str, float]) -> str:
    """Format scores as one line, the loss first, the baselines of guessing last in brackets."""
    names = sorted(scores.keys() - {*_BASELINES}, key=lambda key: (key != "loss", key))
    own = "  ".join(f"{key} {score_text(scores[key])}" for key in names)
    guessing = ", ".join(f"{key} {score_text(scores[key])}" for key in _BASELINES if key in scores)
    return f"{own}  ({guessing})" if guessing else own


def epoch_line(entry: Mapping[str, float], epochs: int, wait: float | None) -> str:
    """Format the entry of an epoch: its scores, after a bar those of the validation split.

    *wait* is the share of the time in which the training waited for its input.
    """
    scores = {key: value for key, value in entry.items() if key != "epoch"}
    validated = {key: value for key, value in scores.items() if key.startswith("val_")}
    line = f"epoch {entry['epoch']:.0f}/{epochs}  "
    line += score_line({key: scores[key] for key in scores if key not in validated})
    if validated:
        line += f" | val {score_line({k.removeprefix('val_'): v for k, v in validated.items()})}"
    return line if wait is None else f"{line} | input wait {wait:.1%}"


def score_text(value: float) -> str:
    """Format a score with four digits after the point; a huge or tiny one by its power of ten."""
    return f"{value:.4f}" if value == 0 or _TINY <= abs(value) < _HUGE else f"{value:.3e}"
