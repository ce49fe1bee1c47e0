from pathlib import Path

import pytest
from audioloom_stage.errors import BadConfiguration, InputMissing, Usage
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.runs.command_identity import digest_name
from audioloom_yarn_launcher.runs.job_file import RoleSpecs, read_job_file, read_roles
from audioloom_yarn_launcher.runs.request import read_run_spec
from audioloom_yarn_launcher.settings import RunSettings
from pydantic import ValidationError

WHOLE = """
command = ["python", "train.py"]

[roles.ps]
instances = 2
command = ["python", "ps.py"]
memory = "1 GiB"

[roles.worker]
instances = 3

[roles.chief]
ends_job = true

[roles.evaluator]
command = ["python", "score.py"]
must_finish = false
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Where the file is to lie."""
    return tmp_path / "job.toml"


def roles(job: Path, text: str, **given: object) -> RoleSpecs:
    job.write_text(text)
    return read_roles(RunSettings.model_validate({"root": "/r", "job": str(job), **given}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[roles", "expected a TOML file"),
        ("comand = ['x']\n[roles.worker]", "comand: unknown key comand: did you mean command"),
        ("[roles.worker]\ninstance = 2", "instance: unknown key instance: did you mean instances"),
        ("[roles.worker]\ninstances = 0", "roles.worker.instances"),
        ("[roles.worker]\nmemory = 'much'", "roles.worker.memory"),
        ("[roles.workr]", "there is no role workr: did you mean worker"),
        ("[roles.ps]", "no role does the work"),
        ("[roles.chief]\ninstances = 2", "one chief at most"),
        ("[roles.worker]\n[roles.tensorboard]\ninstances = 2", "one tensorboard at most"),
        ("[roles.worker]\nmax_restarts = 2", "worker is restarted with its gang"),
        ("[roles.worker]\nmust_finish = false", "it would never be done"),
        ("command = []\n[roles.worker]", "command"),
        ("command = ['x']", "roles"),
    ],
)
def test_what_makes_no_sense_is_named(job: Path, text: str, told: str) -> None:
    """With the nearest known word, where one is near."""
    job.write_text(text)
    with pytest.raises(BadConfiguration, match=told) as caught:
        read_job_file(job)
    assert "None" not in str(caught.value)


def test_a_file_that_is_not_there_is_no_job(job: Path) -> None:
    """It is an input that is missing."""
    with pytest.raises(InputMissing):
        read_job_file(job)


def test_a_role_without_a_command_is_refused(job: Path) -> None:
    """Others have one, but not for it."""
    text = "[roles.ps]\ncommand = ['x']\n[roles.worker]"
    with pytest.raises(Usage, match="role worker has no command"):
        roles(job, text)


def test_a_secret_in_a_role_s_own_command_is_refused(job: Path) -> None:
    """It would be put on record; the error does not show it."""
    job.write_text("[roles.chief]\n[roles.worker]\ncommand = ['true', '--password=hush']")
    asked = {"root": "/r", "job": str(job), "command": ("true",)}
    with pytest.raises(Usage, match="the role worker holds a secret") as refused:
        read_run_spec(RunSettings.model_validate(asked))
    assert "hush" not in str(refused.value)


def test_a_number_of_nobody_is_refused(job: Path) -> None:
    """It would be passed over."""
    with pytest.raises(Usage, match=r"found \[roles.chief\], \[roles.ps\]"):
        roles(job, "command = ['x']\n[roles.ps]\n[roles.chief]", workers=3)


@pytest.mark.parametrize("given", [{}, {"job": "x", "chief": True, "command": ["y"]}])
def test_flags_that_do_not_go_together_are_refused(given: dict[str, object]) -> None:
    """There must be something to run, and one who says who the chief is."""
    with pytest.raises(ValidationError, match=r"COMMAND is required|exclude each other"):
        RunSettings.model_validate({"root": "/r", **given})


def test_roles_stand_in_the_order_of_their_ranks(job: Path) -> None:
    """Whatever that of the file; parameter servers are not waited for, evaluators may fail."""
    found = roles(job, WHOLE)
    assert ("python", "train.py") == found.command
    assert (
        Group("chief", 1, ends_job=True),
        Group("worker", 3),
        Group("ps", 2, ("python", "ps.py"), must_finish=False),
        Group(
            *("evaluator", 1, ("python", "score.py")),
            must_finish=False,
            may_fail=True,
            max_restarts=3,
        ),
    ) == found.groups
    assert 1 << 30 == found.tables["ps"].memory


def test_tensorboard_needs_no_command(job: Path) -> None:
    """It only looks on: nobody waits for it, and it has no part in the name of the run."""
    found = roles(job, "command = ['x']\n[roles.tensorboard]\n[roles.worker]")
    assert Group("worker", 1) == found.groups[0]
    (board,) = found.groups[1:]
    assert ("tensorboard", False, True, 3) == (
        *(board.role, board.must_finish, board.may_fail, board.max_restarts),
    )
    assert ("tensorboard", "--logdir={events}") == board.command[:2]
    assert digest_name(("x",)) == digest_name(("x",), found.groups)


def test_the_command_line_is_stronger(job: Path) -> None:
    """The command than that of all, and the number of workers; roles keep what is their own."""
    found = roles(job, WHOLE, command=("other",), workers=5)
    assert ("other",) == found.command
    assert [1, 5, 2, 1] == [group.count for group in found.groups]
    assert ("python", "score.py") == found.groups[-1].command
    assert 3 == roles(job, WHOLE).groups[1].count
