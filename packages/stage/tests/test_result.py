from __future__ import annotations

import json
import math
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from audioloom_stage.result import JSON, Result, as_object, emit, reserved_stdout


def gone(text: str) -> None:
    raise BrokenPipeError


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("text", ["one", ["one", "two"]])
def test_a_reader_that_was_never_there_is_told(text: str, *, as_json: bool) -> None:
    """No error, and no success."""
    assert not emit(Result(text), gone, kind="audioloom.toy.run", as_json=as_json)


def test_a_reader_of_lines_that_left_has_what_it_wanted() -> None:
    """`… | head -1`."""
    said: list[str] = []

    def write(text: str) -> None:
        if said:
            raise BrokenPipeError
        said.append(text)

    assert emit(Result(["one", "two"]), write, kind="k", as_json=False)
    assert ["one\n"] == said


@pytest.mark.parametrize("name", ["kind", "version", "ok", "error"])
def test_data_cannot_pose_as_the_envelope(name: str) -> None:
    """What reads the object relies on both."""
    with pytest.raises(ValueError, match="owns"):
        as_object({name: 1}, kind="k")


def test_numbers_without_a_json_word_are_refused() -> None:
    """`NaN` would make the object unreadable for strict parsers."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_object({"loss": math.nan}, kind="k")


def test_the_object_names_its_kind_and_version_first() -> None:
    """One line, so that it can be appended to a file of lines."""
    text = as_object({"a": ["ü", None]}, kind="audioloom.toy.run")
    head = '{"kind": "audioloom.toy.run", "version": 1, "ok": true, "error": null, '
    assert head + '"a": ["ü", null]}' == text


def test_a_file_name_that_is_not_utf8_survives() -> None:
    """Python carries its bytes as surrogates, which UTF-8 cannot write."""
    name = os.fsdecode(b"caf\xe9.wav")
    text = as_object({"file": name}, kind="k")
    assert name == json.loads(text.encode())["file"]


def test_no_object_steers_a_terminal() -> None:
    """C1, DEL and directions are escaped as JSON has it; what can be seen stays."""
    said: list[str] = []
    label = "a\x9b31m\u202e\x7f\u2028ü日本"
    assert emit(Result("", {"label": label, label: 1}), said.append, kind="k", as_json=True)
    assert said[0].removesuffix("\n").isprintable()
    assert "ü日本" in said[0]
    assert {"label": label, label: 1}.items() <= json.loads(said[0]).items()


@pytest.mark.parametrize(
    ("text", "written"),
    [("a", ["a\n"]), ("a\n", ["a\n"]), (["a", "b"], ["a\n", "b\n"]), ([], [])],
)
def test_text_ends_with_one_newline(text: str, written: list[str]) -> None:
    """Lines are handed on as they come, for a log that is followed."""
    said: list[str] = []
    assert emit(Result(text), said.append, kind="k", as_json=False)
    assert written == said


def test_captured_stdout_gets_the_result_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests of a stage call its main in their own process."""
    with reserved_stdout() as write:
        print("noise")  # noqa: T201
        write("result\n")
    print("after")  # noqa: T201
    assert ("result\nafter\n", "noise\n") == capsys.readouterr()


RESERVED = """
import os, sys
from audioloom_stage.result import reserved_stdout
with reserved_stdout() as write:
    print("printed")
    os.write(1, b"by descriptor\\n")
    write({text!r})
print("after")
"""


def test_the_descriptor_itself_is_turned_round() -> None:
    """Also for what does not go through Python, and it is put back."""
    done = subprocess.run(
        [sys.executable, "-c", RESERVED.format(text=os.fsdecode(b"caf\xe9 \xc3\xbc\n"))],
        capture_output=True,
        check=True,
    )
    assert b"caf\xe9 \xc3\xbc\nafter\n" == done.stdout
    assert [b"by descriptor", b"printed"] == sorted(done.stderr.splitlines())


def test_without_a_stderr_noise_goes_nowhere() -> None:
    """A daemon may have closed it."""
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, RESERVED.format(text="r\n")],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert b"r\nafter\n" == done.stdout


@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_no_file_becomes_a_standard_stream_that_was_closed(tmp_path: Path, closed: str) -> None:
    """What a child prints, or the JVM, would be written into a data file."""
    program = f"""
import os, subprocess
from pathlib import Path
from audioloom_stage.result import reserved_stdout
with reserved_stdout() as write:
    with Path({str(tmp_path / "data")!r}).open("wb", buffering=0) as file:
        subprocess.run(["/bin/sh", "-c", "cat; echo noise; echo noise >&2"], check=True)
        file.write(str(file.fileno() > 2).encode())
"""
    words = ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, program]
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    assert b"True" == (tmp_path / "data").read_bytes()


def test_without_a_stdout_noise_still_lands_on_stderr() -> None:
    """And the result is refused, as by a pipe that nobody reads."""
    program = RESERVED.format(text="r\n")
    refused = program.replace("    write(", "    with contextlib.suppress(BrokenPipeError): write(")
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -c "$1" >&-', sys.executable, f"import contextlib\n{refused}"],
        stderr=subprocess.PIPE,
        check=True,
    )
    assert [b"by descriptor", b"printed"] == sorted(done.stderr.splitlines())


@pytest.mark.parametrize(("on_terminal", "columns"), [(True, "72"), (False, "None")])
def test_the_width_is_that_of_where_the_result_is_read(*, on_terminal: bool, columns: str) -> None:
    """Not that of stderr, to which stdout is turned while a command works."""
    program = """
from audioloom_stage.result import reserved_stdout, result_columns
with reserved_stdout() as write:
    write(f"{result_columns()}\\n")
assert result_columns() is None
"""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 72))
    where = theirs if on_terminal else subprocess.PIPE
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=where, stderr=theirs, text=True, check=True
    )
    said = os.read(ours, 100).decode().strip() if on_terminal else done.stdout.strip()
    os.close(theirs)
    os.close(ours)
    assert columns == said


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "\x1b[32mok\x1b[0m  fine\\x1b[2J"),
        ({"NO_COLOR": "1"}, "ok  fine\\x1b[2J"),
        ({"TERM": "dumb"}, "ok  fine\\x1b[2J"),
    ],
)
def test_first_words_have_colours_on_a_terminal(variables: dict[str, str], said: str) -> None:
    """Only the stage's own words: what a line says is escaped."""
    program = """
from audioloom_stage.result import Result, emit, reserved_stdout
from audioloom_stage.terminal import GREEN
with reserved_stdout() as write:
    emit(Result(["ok  fine\x1b[2J"], colours={"ok": GREEN}), write, kind="x", as_json=False)
"""
    environment = {**os.environ, "TERM": "xterm", **variables}
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", program], stdout=theirs, env=environment, check=True)
    assert f"{said}\r\n" == os.read(ours, 100).decode()
    os.close(theirs)
    os.close(ours)


def test_a_result_comes_without_controls_and_secrets() -> None:
    """Both as text and as JSON, whoever made it; JSON has escapes of its own."""
    told: list[str] = []
    data: dict[str, JSON] = {"label": "\x1b[2J", "arguments": {"hf_token": "hunter2"}}
    for text in ("\x1b[2J\tHF_TOKEN=hunter2\nb", ["\u202e --auth hunter2"]):
        emit(Result(text, data), told.append, kind="x", as_json=False)
    emit(Result("", data), told.append, kind="x", as_json=True)
    assert [
        "\\x1b[2J\tHF_TOKEN=**********\nb\n",
        "\\u202e --auth **********\n",
        '{"kind": "x", "version": 1, "ok": true, "error": null, "label": "\\u001b[2J",'
        ' "arguments": {"hf_token": "**********"}}\n',
    ] == told
