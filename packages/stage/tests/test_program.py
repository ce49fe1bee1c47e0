from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOY = Path(__file__).with_name("toy.py")

JSON = ("--log-format", "json")


def slow(words: str) -> Any:
    """The words of a command, for the long form."""
    return pytest.param(words, marks=pytest.mark.slow)


def bash(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", "-c", script, sys.executable, str(TOY)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["run", "bad"], 65, "  expected  a drum\n"),
        (["run", "bug"], 70, "error: this is a bug in audioloom-toy: KeyError: 14\n"),
        (["run", "full"], 75, "error: no space left on device\n"),
        (["run", "interrupted"], 130, "error: interrupted\n"),
        (["run", "leave"], 70, "giving up\n"),
        (["run"], 2, "WHAT is required: give it on the command line\n"),
        (["run", "nothing", "--lanes", "x"], 2, "  expected  a valid integer\n"),
        (["run", "nothing", "--config", "/no"], 66, "  where  /no\n"),
        (["run", "nothing", "--config", "/"], 78, "expected  a TOML file"),
    ],
)
def test_a_failure_ends_with_its_code_and_an_empty_stdout(
    toy: Any, words: list[str], code: int, text: str
) -> None:
    """A shell that captures stdout gets nothing to mistake for a result."""
    done = toy(*words)
    assert (code, "") == (done.returncode, done.stdout)
    assert text in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "Usage: audioloom-toy"),
        (["rn"], "Did you mean 'run'?"),
        (["run", "x", "--lanez", "3"], "--lanes"),
        (["run", "x", "--lanes"], "requires an argument"),
        (["verify", "x"], "unexpected extra argument"),
        (["pen", "lst"], "Did you mean 'list'?"),
        (["count"], "Did you mean 'pen count'?"),
        (["run", "x", "--log-format", "xml"], "xml"),
    ],
)
def test_words_that_cannot_be_read(toy: Any, words: list[str], text: str) -> None:
    """Exit code 2, what is wrong, and the way to the help page."""
    done = toy(*words)
    assert (2, "") == (done.returncode, done.stdout)
    assert text in done.stderr


def test_a_wrong_variable_is_a_wrong_configuration(program: Any) -> None:
    """It was not on the command line, so it is not the command line that is wrong."""
    assert 78 == program("run", "nothing", LANES="x").returncode
    assert 78 == program("run", "nothing", LANEZ="1").returncode
    assert 0 == program("run", "nothing", ROOT="/another/commands/setting").returncode


def test_a_wrong_form_of_the_log_is_a_wrong_configuration(
    toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is named, and a flag beside it wins."""
    monkeypatch.setenv("AUDIOLOOM_LOG_FORMAT", "xml")
    done = toy("run", "nothing", "--json")
    error = json.loads(done.stdout)["error"]
    assert (78, "configuration") == (done.returncode, error["class"])
    assert "AUDIOLOOM_LOG_FORMAT" == error["where"]
    assert "--log-format" not in done.stderr
    assert "xml" in done.stderr
    assert 0 == toy("run", "nothing", "--log-format", "json").returncode


def test_stdout_is_the_result_alone(program: Any) -> None:
    """Whatever libraries print, and however."""
    done = program("run", "noise")
    assert (0, "said noise\n") == (done.returncode, done.stdout)
    for noise in ("printed", "written", "by descriptor", "by a child"):
        assert noise in done.stderr


def test_stdout_is_the_object_alone(program: Any) -> None:
    """With --json, and logs in JSON beside it."""
    done = program(
        "run",
        "noise",
        "and",
        "more",
        "--json",
        "--tag",
        "a",
        "--tag",
        "b",
        PASSWORD="x",  # noqa: S106
    )
    assert {
        "kind": "audioloom.toy.run",
        "version": 1,
        "ok": True,
        "error": None,
        "what": "noise",
        "more": ["and", "more"],
        "lanes": 24,
        "rate": None,
        "dtype": "float32",
        "colour": "red",
        "share": "auto",
        "tag": ["a", "b"],
        "model_arg": {},
        "shuffle": True,
        "slow": False,
        "workers": 1,
        "password": "**********",
    } == json.loads(done.stdout)
    assert 1 == done.stdout.count("\n")


@pytest.mark.parametrize(
    ("words", "code", "kind", "error"),
    [
        (
            ["run", "bad"],
            65,
            "audioloom.toy.run",
            {
                "class": "bad_data",
                "message": "bad data",
                "where": "/band",
                "expected": "a drum",
                "found": "a \x1b[2Jflute",
                "hint": "drum",
            },
        ),
        (["verify"], 65, "audioloom.toy.verify", {"class": "bad_data", "message": "bad data"}),
        (["run", "interrupted"], 130, "audioloom.toy.run", {"class": "interrupted"}),
        (["pen", "list", "--lines", "x"], 2, "audioloom.toy.pen.list", {"where": "--lines"}),
        (["pen", "list", "--no"], 2, "audioloom.toy.pen.list", {"class": "usage"}),
        (["rn"], 2, "audioloom.toy", {"class": "usage"}),
    ],
)
def test_a_failure_has_the_envelope_of_a_success(
    toy: Any, words: list[str], code: int, kind: str, error: dict[str, str]
) -> None:
    """Whoever reads the object asks it for `ok`, and for nothing that may be missing."""
    done = toy(*words, "--json")
    said = json.loads(done.stdout)
    assert (code, kind, 1, False) == (done.returncode, said["kind"], said["version"], said["ok"])
    assert ["class", "message", "where", "expected", "found", "hint"] == list(said["error"])
    assert error.items() <= said["error"].items()


def test_bad_news_keeps_its_data(toy: Any) -> None:
    """What a check found stands beside the error."""
    assert 3 == json.loads(toy("verify", "--json").stdout)["files"]


def test_flags_of_every_shape(toy: Any) -> None:
    """As they arrive in the settings."""
    words = "--no-shuffle -w 3 --share 5 --colour blue --model-arg a=1 --model-arg b=x --rate 1e-3"
    got = json.loads(toy("run", "nothing", *words.split(), "--json").stdout)
    assert (False, 3, 5, "blue", {"a": 1, "b": "x"}, 0.001) == tuple(
        got[name] for name in ("shuffle", "workers", "share", "colour", "model_arg", "rate")
    )


def test_the_file_may_be_named_by_a_variable(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator sets it once for all stages."""
    path = tmp_path / "audioloom.toml"
    path.write_text('[toy]\nlanes = 7\nroot = "/x"\n[trainer]\nanything = 1\n')
    monkeypatch.setenv("AUDIOLOOM_CONFIG", str(path))
    assert 7 == json.loads(toy("run", "nothing", "--json").stdout)["lanes"]


def test_what_to_do_next_is_said_on_stderr(toy: Any) -> None:
    """After a success, unless quiet."""
    done = toy("run", "nothing")
    assert done.stderr.endswith("next: audioloom-toy list\nnext: audioloom-toy verify\n")
    last = json.loads(toy("run", "nothing", *JSON).stderr.splitlines()[-1])
    assert ("next", ["audioloom-toy list", "audioloom-toy verify"]) == (
        last["event"],
        last["commands"],
    )
    assert "" == toy("run", "nothing", "--quiet").stderr


def test_a_result_may_be_bad_news(toy: Any) -> None:
    """A check that finds damage has a result and an exit code, and nothing to do next."""
    done = toy("verify")
    assert (65, "damaged\n", "") == (done.returncode, done.stdout, done.stderr)


def test_a_reader_that_leaves_ends_nothing() -> None:
    """No traceback, no complaint, and the exit code of the work."""
    done = bash('set -o pipefail; "$0" "$1" list | head -1')
    assert (0, "line 0\n", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("pipe", [True, False])
@pytest.mark.parametrize("words", ["list", "--help", *map(slow, ["list --json", "run noise"])])
def test_a_result_that_nobody_read_is_no_success(words: str, *, pipe: bool) -> None:
    """The work is done, and who waits for its result must not take nothing for an answer."""
    read, write = os.pipe()
    os.close(read)  # as `| head -0` has it, when it was quick
    done = subprocess.run(
        ["/bin/bash", "-c", f'"$0" "$1" {words}{"" if pipe else " >&-"}', sys.executable, str(TOY)],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert 141 == done.returncode, done.stderr
    assert "Traceback" not in done.stderr


def test_bad_news_that_nobody_read_is_bad_news() -> None:
    """The code of the check itself."""
    assert 65 == bash('"$0" "$1" verify >&-').returncode


@pytest.mark.parametrize(
    "words", ["--help", "list --json", *map(slow, ["run --help", "--version", "run noise"])]
)
def test_a_reader_that_never_came(words: str) -> None:
    """The pipe is closed before the first byte."""
    done = bash(f'"$0" "$1" {words} 2> >(cat >&2) | true; exit 0')
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_full_disk_under_stdout_is_said() -> None:
    """A result that was not delivered is not a success."""
    done = bash('"$0" "$1" run nothing > /dev/full')
    assert 75 == done.returncode
    assert "no space left on device" in done.stderr


def test_a_child_that_lives_on_does_not_hold_the_pipe(tmp_path: Path) -> None:
    """`result=$(…)` ends when the program ends, whatever it left running."""
    pid = tmp_path / "pid"
    done = bash(
        f'x=$("$0" "$1" run lingering-child -q 2>{pid})\n'
        f'kill $(cat {pid}) && echo "got $x, and it was alive"'
    )
    assert "got said lingering-child, and it was alive\n" == done.stdout


def test_the_traceback_is_for_debug_and_shows_no_values(toy: Any) -> None:
    """Local variables hold secrets."""
    done = toy("run", "bug", "--debug")
    assert 70 == done.returncode
    assert "Traceback" in done.stderr
    assert "local variable" not in done.stderr.replace('hidden = "local variable"', "")
    last = json.loads(toy("run", "bug", "--debug", *JSON).stderr.splitlines()[-1])
    assert "Traceback" in last["exception"]


def test_a_bug_names_its_place(toy: Any) -> None:
    """The line to look at, without a traceback."""
    assert "toy.py:" in toy("run", "bug").stderr


def test_an_error_as_a_line_of_json(toy: Any) -> None:
    """What collects logs gets the parts of the error."""
    last = json.loads(toy("run", "bad", *JSON).stderr.splitlines()[-1])
    assert ("error", "bad data", 65, "/band", "a drum", "drum", "toy-1", "toy") == tuple(
        last[key]
        for key in ("level", "event", "exit_code", "where", "expected", "try", "run", "stage")
    )


def test_control_characters_reach_no_terminal(toy: Any) -> None:
    """File names come from outside; a terminal would obey them."""
    done = toy("run", "bad")
    assert "\x1b" not in done.stderr
    assert "a \\x1b[2Jflute" in done.stderr


def test_control_c_ends_with_130() -> None:
    """A real signal, in the middle of the work."""
    code = (
        "import sys, time; sys.argv = ['toy']; sys.path.insert(0, sys.argv.pop())\n"
        f"exec(open({str(TOY)!r}).read().split('main = run_app')[0])\n"
        "def wait(_):\n    print('ready', file=sys.stderr, flush=True)\n    time.sleep(60)\n"
        "ACTIONS['wait'] = wait\n"
        "raise SystemExit(run_app(app)(['run', 'wait', '--quiet']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "ready\n" == process.stderr.readline()
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (130, "", "error: interrupted\n") == (process.returncode, out, err)
