"""The pipeline on real speech: Debian's telephone prompts in three languages.

One actor speaks each language in one studio, so language is also speaker and room: a high score is
a smoke test of the pipeline on real recordings, and would be leakage if it were sold as more.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from audioloom_quickstart.contents import groups_by_split, rows
from audioloom_quickstart.pipeline import Outcome, on_this_machine, run_pipeline
from audioloom_quickstart.programs import Programs, StepFailedError
from audioloom_quickstart.table import ending

PATTERN = r"(?P<label>en|fr|ru)/(?P<group>.+)\.wav"
RECORDINGS = 1705
REFUSED = {"ru/is.wav": "empty"}  # a header and not one sample, as Debian ships it
LEAST_ACCURACY = 0.90
REGISTRY_SILENT = 69


class SkippedError(Exception):
    """Nothing was checked, for a reason that is not ours."""


def realdata(programs: Programs, folder: Path) -> str:
    """Run it all below *folder*, check what must hold, and answer the text that ends it.

    Raises:
        StepFailedError: naming each expectation that does not hold.
        SkippedError: the package registry does not answer, and this is not CI.
    """
    voices = folder / "voices"
    if not voices.exists():
        fetch(programs, voices)
    outcome = run_pipeline(
        programs,
        str(voices),
        on_this_machine(programs, str(folder / "loom")),
        pattern=PATTERN,
        split="train=0.7,val=0.1,test=0.2",
        name="languages",
        workers=2,
        training=("--epochs", "8"),
    )
    text = ending(programs, outcome, unseen="prompts")
    faults = broken_expectations(look(voices, outcome))
    if faults:
        raise StepFailedError("\n".join([text, "", *faults]))
    return f"{text}\nAll {RECORDINGS} recordings are accounted for; no prompt is in two splits."


def fetch(programs: Programs, voices: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Download the recordings; without a registry a person's run is skipped, and CI's fails."""
    try:
        programs.run("fetch recordings", "voices", "-m", "audioloom_voices", "debian", str(voices))
    except StepFailedError as error:
        in_ci = environment.get("CI", "").lower() in {"true", "1"}
        if error.exit_code != REGISTRY_SILENT or in_ci:
            raise
        raise SkippedError(
            "Debian's package registry does not answer, so there are no real recordings to run on."
        ) from error


@dataclass(frozen=True)
class Found:
    """What lies in the data files, and how good the model is."""

    files: list[str]
    """On disk, relative to the folder that was scanned."""
    features: list[str]
    """Path of each window."""
    ledger: list[tuple[str, str]]
    """Path and class of each refusal."""
    groups: dict[str, set[str]]
    """By split."""
    accuracy: float
    """On the test split."""


def look(voices: Path, outcome: Outcome) -> Found:
    """Read it from the data files, not from what the stages say of them."""
    return Found(
        files=[path.relative_to(voices).as_posix() for path in voices.rglob("*.wav")],
        features=[row["path"] for row in rows(outcome.features, "features", "path")],
        ledger=[
            (row["path"], row["class"]) for row in rows(outcome.features, "ledger", "path", "class")
        ],
        groups=groups_by_split(outcome.shards),
        accuracy=outcome.manifest("run")["stats"]["scores"]["test"]["accuracy"],
    )


def broken_expectations(found: Found) -> list[str]:
    """What does not hold of a run on all the recordings; empty when everything does."""
    faults = []

    def expect(expected: object, actual: object, what: str) -> None:
        if expected != actual:
            faults.append(f"expected {expected} {what}, found {actual}")

    seen = Counter(found.features) + Counter(path for path, _ in found.ledger)
    expect(RECORDINGS, len(found.files), "recordings")
    expect(len(found.files), seen.total(), "in features and ledger together")
    expect([], sorted({*found.files} ^ {*seen})[:5], "in one of files and features + ledger only")
    expect([], sorted(path for path, n in seen.items() if n > 1)[:5], "in both or twice")
    expect(REFUSED, dict(found.ledger), "in the ledger")
    expect(["test", "train", "val"], sorted(found.groups), "as splits")
    for one, other in combinations(sorted(found.groups), 2):
        both = sorted(found.groups[one] & found.groups[other])[:5]
        expect([], both, f"as groups in both {one} and {other}")
    if not found.accuracy >= LEAST_ACCURACY:
        faults.append(f"expected an accuracy ≥ {LEAST_ACCURACY}, found {found.accuracy:.3f}")
    return faults
