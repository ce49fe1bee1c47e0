"""What came out, in a table that fits a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audioloom_quickstart.pipeline import Outcome


def result_rows(outcome: Outcome, split: str = "test") -> list[tuple[str, str]]:
    """What was read, what was made of it, and how good the model is beside doing nothing."""
    features = outcome.manifest("features")["stats"]
    shards = outcome.manifest("shards")
    train = shards["stats"]["splits"]["train"]
    run = outcome.manifest("run")
    an_epoch = -(-train["records"] // run["recipe"]["batch_size"])
    replicas = run["stats"]["replicas"]
    scores = run["stats"]["scores"][split]
    return [
        ("recordings read", f"{features['recordings']}, {features['audio_seconds'] / 60:.1f} min"),
        ("recordings refused", refused(features)),
        ("shards", ", ".join(
            f"{name} {each['shards']} ({each['records']} records)"
            for name, each in sorted(shards["stats"]["splits"].items())
        )),
        ("steps", f"{run['stats']['steps']} ({an_epoch} an epoch, {replicas} workers)"),
        ("accuracy on unseen groups", f"{scores['accuracy']:.3f}"),
        ("  chance", f"{scores['chance']:.3f}"),
        ("  majority class", f"{scores['majority']:.3f}"),
    ]  # fmt: skip


def refused(stats: Mapping[str, Any]) -> str:
    """How many recordings were refused, and why."""
    reasons = ", ".join(f"{count} {name}" for name, count in sorted(stats["refusals"].items()))
    return f"{stats['refused']}" + (f" ({reasons})" if reasons else "")


def timing_rows(seconds: Mapping[str, float]) -> list[tuple[str, str]]:
    """Seconds of each step and in all."""
    rows = [(step, f"{each:.1f} s") for step, each in seconds.items()]
    return [*rows, ("in all", f"{sum(seconds.values()):.1f} s")]


def format_table(sections: Sequence[Sequence[tuple[str, str]]]) -> str:
    """Sections of label and value, aligned over all of them."""
    width = max(len(label) for section in sections for label, _ in section)
    value = max(len(text) for section in sections for _, text in section)
    rule = "─" * (width + value + 4)
    lines = [rule]
    for section in sections:
        lines += [f" {label:<{width}}  {text}" for label, text in section]
        lines.append(rule)
    return "\n".join(lines)
