from pathlib import Path

import pytest
from audioloom_storage import publish
from audioloom_yarn_launcher.runs.attempts import begin
from audioloom_yarn_launcher.runs.lease import acquire
from audioloom_yarn_launcher.runs.request import read_run_spec
from audioloom_yarn_launcher.settings import RunSettings
from structlog.testing import capture_logs


def answered(root: Path, command: tuple[str, ...], **more: str) -> list[str]:
    """What is said when a command is given whose run is committed."""
    asked = RunSettings.model_validate({"root": str(root), "command": ("true", *command), **more})
    spec = read_run_spec(asked).model_copy(update={"wait": False})
    begin(spec.location, spec.attempt(1))
    publish(spec.manifest, b"{}")
    with capture_logs() as logs:
        assert None is acquire(spec)
    return [str(line["event"]) for line in logs]


def test_an_answer_says_that_masked_words_were_not_compared(tmp_path: Path) -> None:
    """A run that was named, and a word that may be a setting: its record does not show which."""
    (said,) = answered(tmp_path, ("-p", "0.5"), name="named")
    assert "what is masked was not compared" in said


@pytest.mark.parametrize(
    ("command", "name"),
    [(("-p", "0.5"), {}), (("--password=x",), {"name": "a"}), (("-x", "0.5"), {"name": "b"})],
    ids=["its name tells", "a password", "nothing masked"],
)
def test_another_answer_says_nothing(
    tmp_path: Path, command: tuple[str, ...], name: dict[str, str]
) -> None:
    """Nothing that counts is left out of the comparison."""
    assert [] == answered(tmp_path, command, **name)
