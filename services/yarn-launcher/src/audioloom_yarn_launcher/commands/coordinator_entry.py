"""`coordinator`: the command line in the application master. The launcher alone writes it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from audioloom_stage import LogSettings, configure_logs

from audioloom_yarn_launcher.commands.coordinator import coordinate
from audioloom_yarn_launcher.runs.run_spec import RunSpec


def main(words: Sequence[str]) -> int:
    """Coordinate the run that the words name; the exit code."""
    parser = argparse.ArgumentParser(
        prog="audioloom-yarn-launcher coordinator",
        description="Coordinate a run on a cluster. For the launcher itself, which writes this"
        " line.",
    )
    parser.add_argument("--job", required=True, type=Path, help="a file")
    asked = parser.parse_args(words)
    configure_logs(LogSettings(format="json", bound={"stage": "yarn-launcher"}))
    return coordinate(RunSpec.model_validate_json(asked.job.read_bytes()))
