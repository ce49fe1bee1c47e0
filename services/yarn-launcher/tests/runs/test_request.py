import json
from pathlib import Path
from typing import Any

import pytest
from audioloom_stage.errors import NameTaken, Usage
from audioloom_stage.redaction import redact_words
from audioloom_storage import locate
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.runs.attempts import Attempt, AttemptStarted
from audioloom_yarn_launcher.runs.command_identity import check_same, digest_name
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.runs.request import read_run_spec, read_variables
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.settings import RunSettings


def request(folder: Path, *command: str, by_hand: bool = True, **more: Any) -> RunSpec:
    return RunSpec(
        name="mine",
        named_by_hand=by_hand,
        folder=(locate(folder) / "runs/mine").uri,
        command=command,
        working_folder=str(folder),
        **more,
    )


def attempt(folder: Path, *command: str) -> Attempt:
    started = AttemptStarted(
        attempt=1,
        generation=0,
        launch="x",
        started=now(),
        on="local",
        size=2,
        command=command,
        working_folder=str(folder),
        owner=this_process(),
    )
    return Attempt(started, None, None)


def test_the_name_follows_from_the_command_alone(tmp_path: Path) -> None:
    """Not from the number of workers, nor from where the program is installed."""
    one = RunSettings(root=str(tmp_path), workers=1, command=("python3", "train.py", "--epochs=2"))
    three = one.model_copy(update={"workers": 3, "max_restarts": 7})
    assert read_run_spec(one).name == read_run_spec(three).name
    assert digest_name(("/a/bin/python3", "x")) == digest_name(("/b/python3", "x"))
    assert digest_name(("python3", "x")) != digest_name(("python3", "y"))
    assert digest_name(("python3", "x", "y")) != digest_name(("python3", "x y"))


def test_the_name_of_a_command_never_changes() -> None:
    """Or every run would be made anew with the next release."""
    assert "db0056ad6ba088da" == digest_name(("audioloom-trainer", "run", "/data/shards/x"))


def test_the_commands_of_roles_are_part_of_the_name() -> None:
    """Where they are others; how many there are, and what becomes of them, is not."""
    command = ("python3", "train.py")
    alike = (Group("chief", 1), Group("worker", 3, ends_job=True))
    assert digest_name(command) == digest_name(command, alike)
    scored = [
        (*alike, Group("evaluator", count, ("python3", script)))
        for count, script in [(1, "score.py"), (2, "score.py"), (1, "other.py")]
    ]
    one, two, other = (digest_name(command, roles) for roles in scored)
    assert one == two
    assert 3 == len({digest_name(command), one, other})


def test_other_commands_of_roles_are_refused(tmp_path: Path) -> None:
    """As another command is; another number of them is not."""
    before = attempt(tmp_path, "train")
    check_same(request(tmp_path, "train", roles=(Group("worker", 3),)), [before])
    roles = (Group("worker", 1), Group("evaluator", 1, ("score",)))
    scored = request(tmp_path, "train", roles=roles)
    with pytest.raises(NameTaken, match="other commands for its roles"):
        check_same(scored, [before])


def test_a_word_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """It could not be put on record, and another command might be taken for it."""
    asked = RunSettings.model_construct(root=str(tmp_path), name=None, command=("true", "\udcff"))
    with pytest.raises(Usage, match="UTF-8"):
        read_run_spec(asked)


def test_a_secret_makes_no_other_name() -> None:
    """It is changed one day; and nobody can guess it from the name."""
    one, two, other = (
        digest_name(("train", *words))
        for words in (["--password=a"], ["--password=b"], ["--password=b", "--epochs=2"])
    )
    assert one == two == digest_name(("train", "--password=**********"))
    assert one != other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("-p", "0.5"), ("-p", "0.9")),
        (("--auth", "kerberos"), ("--auth", "simple")),
        (("--token", "bpe"), ("--token", "word")),
        (("-p", "alpha", "0.6"), ("-p", "beta", "0.6")),
        (("sh", "-c", "x --token bpe"), ("sh", "-c", "x --token word")),
    ],
)
def test_what_may_be_no_secret_makes_another_name(
    one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    """Or the second command would be answered with the result of the first."""
    names = [digest_name(("train", *words)) for words in (one, other, one)]
    assert names[0] == names[2] != names[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("-p", "hunter2"), ("-p", "48151")),
        (("-p", "hunter2"), ("-p", "/Zk3=")),
        (("--token", "abc"), ("--token", "20251124")),
        (("--auth=abc",), ("--auth=0815",)),
        (("--password", "hunter2"), ("--password", "--H2")),
        (("https://bob:abc@host/x",), ("https://bob:x:y@host/x",)),
    ],
)
def test_a_password_may_change_into_one_of_any_form(
    tmp_path: Path, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    """A run that was named can be gone on with, whatever the new password looks like."""
    started = attempt(tmp_path, *redact_words(("train", *before)))
    check_same(request(tmp_path, "train", *after), [started])


def test_a_secret_that_was_changed_makes_no_other_command(tmp_path: Path) -> None:
    """But what is no secret does, however much its name looks like that of one."""
    started = attempt(tmp_path, "train", "--password=**********", "--token", "**********", "-x")
    check_same(request(tmp_path, "train", "--password=a", "--token", "b", "-x"), [started])
    for words in (
        ("--password=a", "--token", "b", "-y"),
        ("--password=a", "--token", "b"),
        ("--token", "b", "--password=a", "-x"),
    ):
        with pytest.raises(NameTaken, match=r"expected train --"):
            check_same(request(tmp_path, "train", *words), [started])
    counted = attempt(tmp_path, "train", "--max-token", "5", "--pad_token=0")
    check_same(request(tmp_path, "train", "--max-token", "5", "--pad_token=0"), [counted])
    for words in (("--max-token", "6", "--pad_token=0"), ("--max-token", "5", "--pad_token=1")):
        with pytest.raises(NameTaken):
            check_same(request(tmp_path, "train", *words), [counted])


def test_a_record_of_an_older_release_is_compared_without_its_secrets(tmp_path: Path) -> None:
    """It holds the whole command, or a word that told masked ones apart."""
    check_same(request(tmp_path, "x", "--token=a"), [attempt(tmp_path, "x", "--token=b")])
    record = attempt(tmp_path, "x").started.model_dump(mode="json") | {"command_check": "a" * 32}
    assert ("x",) == AttemptStarted.model_validate(json.loads(json.dumps(record))).command


def test_a_variable_without_a_value_has_the_one_here() -> None:
    """Or is refused: an empty password would be taken for one."""
    assert {"A": "b=c", "D": "e"} == read_variables(["A=b=c", "D"], {"D": "e", "A": "x"})
    with pytest.raises(Usage, match="F in the environment"):
        read_variables(["F"], {})


def test_the_first_attempt_is_everybodys(tmp_path: Path) -> None:
    """A folder without a record and without a manifest belongs to nobody."""
    check_same(request(tmp_path, "python3"), [])


def test_another_command_is_refused(tmp_path: Path) -> None:
    """The error shows both."""
    with pytest.raises(NameTaken, match="expected train b, found train a"):
        check_same(request(tmp_path, "train", "b"), [attempt(tmp_path, "train", "a")])


def test_a_relative_path_means_another_file_elsewhere(tmp_path: Path) -> None:
    """Only what exists in either working folder is taken for a path."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    command = ("train", "--data=shards", "7")
    check_same(request(here, *command), [attempt(there, *command)])
    (there / "shards").mkdir()
    with pytest.raises(NameTaken, match="shards is another file"):
        check_same(request(here, *command), [attempt(there, *command)])
    check_same(request(there, *command), [attempt(there, *command)])


def test_a_manifest_without_a_record_is_not_taken_for_ours(tmp_path: Path) -> None:
    """The name was given by hand, so nothing says that this command made it."""
    (tmp_path / "runs/mine").mkdir(parents=True)
    (tmp_path / "runs/mine/manifest.json").write_text("{}")
    with pytest.raises(NameTaken, match="without the launcher"):
        check_same(request(tmp_path, "train"), [])
    check_same(request(tmp_path, "train", by_hand=False), [])
