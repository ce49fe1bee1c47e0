"""Nothing that is secret stays anywhere but with the command itself."""

import getpass
import hashlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import launcher_on_yarn as on_cluster
import pytest
from audioloom_yarn_launcher.commands import run_local as launching
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.settings import RunSettings

SECRETS = ("hunter2-in-a-flag", "hunter2-after-one", "hunter2-in-an-address", "hunter2-by-variable")
WORDS = (
    f"--password={SECRETS[0]}",
    "--api-key",
    SECRETS[1],
    f"postgres://me:{SECRETS[2]}@db/x",
)
SAID = "application.master.log,application.driver.log,worker.log"
PROGRAM = Path(__file__).parent / "programs" / "knows.py"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def got(words: tuple[str, ...]) -> str:
    """What the program says if it got all words as they are."""
    return " ".join(digest(word.rpartition("=")[2]) for word in words)


def found_in(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def found_below(folder: Path) -> list[str]:
    """The files that hold a secret, by content or by name."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if found_in(str(path) + path.read_bytes().decode("latin1"))]


def test_nothing_secret_is_recorded_shown_or_logged(
    launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run to a failure, twice; then all that is left is searched, and what the commands say."""
    monkeypatch.setenv("OUR_PASSWORD", SECRETS[3])
    command = (sys.executable, str(PROGRAM), "3", *WORDS)
    words = ("run", f"--root={launches.root}", "--name=mine", "--", *command)
    said: list[str] = []
    for more in ([], ["--json"]):
        code, out, err = launches.run(*words[:1], *more, *words[1:])
        assert 3 == code, err
        said += [out, err]
    folder = launches.the_run()
    for show in (["status"], ["status", "--json"], ["logs"], ["kill"]):
        code, out, err = launches.run(*show, str(folder))
        assert 0 == code, err
        said += [out, err]
    log = (folder / "logs/0/1.log").read_text().splitlines()
    assert [got(WORDS), f"{digest(SECRETS[3])} False"] == log
    assert [] == found_in("\n".join(said))
    assert [] == found_below(launches.root)
    closed = {"attempts": 0o700, "logs/0/1.log": 0o600}
    assert closed == {each: (folder / each).stat().st_mode & 0o777 for each in closed}
    code, out, err = launches.run(*(word if word != "3" else "4" for word in words))
    assert 73 == code, err
    assert [] == found_in(out + err)


NEEDS = """
import os, sys
sys.exit(0 if (sys.argv[1:], os.environ["OUR_PASSWORD"]) == (["--password", "new"], "new") else 3)
"""


@pytest.mark.slow
def test_a_password_that_was_changed_leaves_a_run_to_be_gone_on_with(
    launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a word or in a variable, under a name or without one; another command is refused."""
    for name in (["--name=mine"], []):
        run = ("run", f"--root={launches.root}", *name)

        def start(password: str, *more: str, run: tuple[str, ...] = run) -> tuple[int, str]:
            monkeypatch.setenv("OUR_PASSWORD", password)
            command = (sys.executable, "-c", NEEDS, "--password", password, *more)
            code, _, err = launches.run(*run, "--", *command)
            return code, err if code not in (0, 3, 73) else ""

        assert (3, "") == start("old")
        if name:
            assert (73, "") == start("new", "--epochs=2")
        assert (0, "") == start("new")
    assert 2 == len(list((launches.root / "runs").iterdir()))


COMMITS = """
import os, pathlib
folder = pathlib.Path(os.environ["AUDIOLOOM_RUN_FOLDER"].removeprefix("file://"))
for name in ("logs/tensorboard/train/events", "model/weights", "manifest.json"):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("{}")
"""


def test_what_is_committed_can_be_read_by_whoever_reads_the_manifest(
    launches: Any,
) -> None:
    """Also what a program writes where the launcher keeps logs, which are its owner's alone."""
    before = os.umask(0o022)
    try:
        words = ("run", f"--root={launches.root}", "--name=mine", "--")
        code, _, err = launches.run(*words, sys.executable, "-c", COMMITS)
    finally:
        os.umask(before)
    assert 0 == code, err
    folder = launches.the_run()
    for name in ("manifest.json", "model/weights", "logs/tensorboard/train/events"):
        way = [folder / name, *(folder / name).parents]
        inside = way[: way.index(launches.root) + 1]
        closed = [each for each in inside[1:] if each.stat().st_mode & 0o055 != 0o055]
        assert ([], 0o644) == (closed, inside[0].stat().st_mode & 0o777)
    assert {0o600} == {each.stat().st_mode & 0o777 for each in (folder / "logs").glob("*/*.log")}


def test_nothing_secret_comes_into_the_store(
    launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is put there, at any time."""
    told: list[str] = []

    class Listening(MemoryStore):
        def transaction(self, conditions: Any, operations: Any) -> bool:
            told.append(repr((conditions, operations)))
            return super().transaction(conditions, operations)

    monkeypatch.setattr(launching, "MemoryStore", Listening)
    command = (sys.executable, str(PROGRAM), "0", *WORDS)
    asked = {"root": str(launches.root), "command": command, "workers": 2}
    assert 0 == launching.launch(RunSettings.model_validate(asked)).exit_code
    assert [] == found_in("\n".join(told))
    assert any("postgres://me:**********@db/x" in each for each in told)


def modes(yarn: Any, folder: str) -> dict[str, str]:
    """The permissions of what lies in a folder of HDFS, by name."""
    where = f"{yarn.cluster.pages['hdfs']}/webhdfs/v1{folder}?op=LISTSTATUS"
    try:
        with urllib.request.urlopen(where, timeout=30) as reply:  # noqa: S310 - http
            listed = json.load(reply)["FileStatuses"]["FileStatus"]
    except urllib.error.HTTPError:
        return {}
    return {each["pathSuffix"]: each["permission"] for each in listed}


@pytest.mark.slow
def test_nothing_secret_stays_on_a_cluster(yarn: Any) -> None:
    """Neither in HDFS, nor in what containers said, nor on the pages of YARN.

    But for YARN's own copy of its launch script among its logs, where variables stand.
    """
    options = ("--on=yarn", f"--root={yarn.root}", "--memory=256 MiB", "--env=OUR_PASSWORD")
    words = (*options, "--name=secret", f"--files={PROGRAM}", "--max-restarts=0")
    command = ("python3", PROGRAM.name, "3", *WORDS)
    process = yarn.start("run", *words, "--", *command, OUR_PASSWORD=SECRETS[3])
    home = f"/user/{getpass.getuser()}/.skein"

    def staged() -> set[str]:
        return {mode for name, mode in modes(yarn, home).items() if name.startswith("application_")}

    # skein makes a folder, closes it, and only then writes into it.
    on_cluster.until(lambda: staged() == {"700"}, "something is staged, for its owner alone")
    done = yarn.finish(process)
    assert 3 == done[0], done[2]
    folders = modes(yarn, yarn.where("secret").removeprefix(yarn.cluster.hdfs))
    closed = ("attempts", "submissions")
    assert dict.fromkeys(closed, "700") == {name: folders[name] for name in closed}
    logs = modes(yarn, f"{yarn.where('secret')}/logs/0".removeprefix(yarn.cluster.hdfs))
    assert {"600"} == {mode for name, mode in logs.items() if name.endswith(".log")}
    said = [*done[1:]]
    for show in (["status"], ["status", "--json"], ["logs"]):
        said += yarn.call(*show, yarn.where("secret"))[1:]
    assert f"{got(WORDS)}\n{digest(SECRETS[3])} False" in "\n".join(said)
    listed = yarn.cluster.ask("/ws/v1/cluster/apps")
    said.append(json.dumps(listed))
    (application,) = [each["id"] for each in listed["apps"]["app"] if "secret" in each["name"]]
    said.append(json.dumps(yarn.cluster.ask(f"/ws/v1/cluster/apps/{application}")))
    for tool in (
        ("hdfs", "dfs", "-cat", *(f"{yarn.where('secret')}/*/*{more}" for more in ("", "/*"))),
        ("yarn", "logs", "-applicationId", application, "-log_files", SAID),
    ):
        ran = subprocess.run(
            tool, env=yarn.variables, capture_output=True, text=True, check=False, cwd=os.sep
        )
        said.append(ran.stdout)
        assert "secret" in ran.stdout or application in ran.stdout
    assert [] == found_in("\n".join(said))
