"""What came out, in a table that fits a terminal."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from audioloom_quickstart.pipeline import Outcome
from audioloom_quickstart.programs import Programs


def ending(programs: Programs, outcome: Outcome, *, unseen: str) -> str:
    """The table, and the command that shows more."""
    return f"{summary(programs, outcome, unseen=unseen)}\n{look_further(programs, outcome)}"


def summary(programs: Programs, outcome: Outcome, *, unseen: str) -> str:
    """The table.

    Args:
        programs: which ran, and for how long.
        outcome: what they answered with.
        unseen: what the groups are, in the plural: none of the test split was trained on.
    """
    return format_table([timing_rows(programs.seconds), result_rows(outcome, unseen)])


def look_further(programs: Programs, outcome: Outcome) -> str:
    """The command that shows more."""
    look = (programs.paths["trainer"], "inspect", outcome.run.removesuffix("/manifest.json"))
    return f"Look further:\n  {shlex.join(map(from_here, look))}"


def from_here(text: str) -> str:
    """A path as a person in this folder would write it; anything else as it is.

    The shell's PWD counts, not the working directory: nox changes that to the noxfile's folder.
    """
    here = os.environ.get("PWD", "")
    if here and Path(text).is_absolute() and Path(text).is_relative_to(here):
        return str(Path(text).relative_to(here))
    return text


def result_rows(outcome: Outcome, unseen: str, split: str = "test") -> list[tuple[str, str]]:
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
        (f"accuracy on unseen {unseen}", f"{scores['accuracy']:.3f}"),
        ("  chance", f"{scores['chance']:.3f}"),
        ("  majority class", f"{scores['majority']:.3f}"),
    ]  # fmt: skip


def refused(stats: Mapping[str, Any]) -> str:
    """How many recordings were refused, and why."""
    reasons = ", ".join(f"{count} {name}" for name, count in sorted(stats["refusals"].items()))
    return f"{stats['refused']}" + (f" ({reasons})" if reasons else "")


def timing_rows(seconds: Mapping[str, float]) -> list[tuple[str, str]]:
    """Seconds of each step and in all."""
    everything = {**seconds, "in all": sum(seconds.values())}
    return [(step, f"{each:5.1f} s") for step, each in everything.items()]


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
