import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_yarn_launcher.commands import run_yarn
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.worker.environment import SECRETS
from audioloom_yarn_launcher.yarn.application_spec import Shape


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[Shape]:
    """The shapes of applications that are compared with the cluster, and are not submitted."""
    shapes: list[Shape] = []

    def check_fits(shape: Shape, _: object) -> None:
        shapes.append(shape)
        raise InterruptedError

    for name in ("find_hadoop", "check_programs", "check_reachable", "check_default_system"):
        monkeypatch.setattr(run_yarn.configuration, name, lambda *_: None)
    cluster = SimpleNamespace(check_queue=lambda _: None, nodes=lambda _: [])
    monkeypatch.setattr(run_yarn, "connect", lambda *_: nullcontext(cluster))
    monkeypatch.setattr(run_yarn.application_spec, "check_fits", check_fits)
    return shapes


def test_the_commands_of_a_job_file_are_those_of_the_containers(
    tmp_path: Path, submitted: list[Shape]
) -> None:
    """The masked words travel with the containers, and each HDFS in a command gets a token."""
    job = tmp_path / "job.toml"
    job.write_text(
        'command = ["python", "t.py", "-p", "s3cret", "--password=abc", "hdfs://other/x"]\n'
        '[roles.worker]\n[roles.evaluator]\ncommand = ["python", "score.py", "hdfs://third/x"]\n'
    )
    settings = {"root": str(tmp_path), "on": "yarn", "job": str(job)}
    with pytest.raises(InterruptedError):
        run_yarn.launch_on_yarn(RunSettings.model_validate(settings))
    (shape,) = submitted
    assert {"3": "s3cret", "4": "--password=abc"} == json.loads(shape.variables[SECRETS])
    assert ("hdfs://other", "hdfs://third") == shape.systems
