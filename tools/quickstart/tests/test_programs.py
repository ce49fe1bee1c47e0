import sys

import pytest
from audioloom_quickstart.programs import Programs, StepFailedError, programs_from_environment


def test_failed_step_names_command_and_exit_code() -> None:
    """A stage that fails ends the run, with what was asked and what it answered."""
    programs = Programs({"demo": sys.executable})
    with pytest.raises(StepFailedError, match=r"demo -c .* ended with exit code 66"):
        programs.run("step", "demo", "-c", "raise SystemExit(66)")


def test_without_programs_the_session_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by hand it says how to start it."""
    monkeypatch.delenv("AUDIOLOOM_PROGRAMS", raising=False)
    with pytest.raises(StepFailedError, match=r"noxfile\.py -s quickstart"):
        programs_from_environment()


def test_answer_is_stdout_alone() -> None:
    """The answer of a step is what it printed, without the line end; its time is added up."""
    programs = Programs({"demo": sys.executable})
    program = "import sys; print('answer'); print('noise', file=sys.stderr)"
    assert "answer" == programs.run("step", "demo", "-c", program)
    assert ["step"] == list(programs.seconds)
