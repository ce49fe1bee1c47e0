"""What `run` says at its end."""

import shutil
from pathlib import Path

from audioloom_storage import locate
from audioloom_yarn_launcher.monitoring.failure_report import result_of
from structlog.testing import capture_logs

CASES = Path(__file__).parents[4] / "shared/contracts/conformance/cases"


def test_a_training_ends_with_its_scores_and_another_program_without(tmp_path: Path) -> None:
    """Not again for a run that was committed before; where to look further is told anyway."""
    training = shutil.copytree(CASES / "training-run-minimal/input", tmp_path / "training")
    other = tmp_path / "other"
    other.mkdir()
    (other / "manifest.json").write_text("{}")
    for folder, attempts, told in ((training, 1, True), (training, 0, False), (other, 1, False)):
        with capture_logs() as logs:
            result = result_of(locate(folder), attempts=attempts)
        assert told == ("committed" in {each["event"] for each in logs})
        inspected = f"audioloom-trainer inspect {folder}" in result.next
        assert inspected == (folder == training)
