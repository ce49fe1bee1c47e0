from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from audioloom_stage import progress_bar
from audioloom_stage.logs import LogSettings, configure_logs
from audioloom_stage.progress_bar import Progress, progress

TOY = Path(__file__).with_name("toy.py")


def on_a_terminal(*words: str, **variables: str) -> tuple[str, str]:
    """Run the toy with stderr on a terminal; answer what it showed, and its stdout."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, TOY, *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=os.environ | {"TERM": "xterm"} | variables,
        timeout=60,
        check=True,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # the end of a terminal
            break
        if not some:
            break
        shown += some
    os.close(ours)
    return shown.decode(), done.stdout


def test_a_bar_on_a_terminal() -> None:
    """Drawn over itself, taken away at the end, and log lines stay whole."""
    shown, out = on_a_terminal("run", "count")
    assert "counting 1/3 sheep" in shown
    assert "100%" in shown
    assert "said count\n" == out
    after_last_bar = shown.rpartition("sheep")[2]
    assert "\r\x1b[K" in shown
    assert "counted" in after_last_bar


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (["--quiet"], {}),
        (["--log-format", "json"], {}),
        ([], {"TERM": "dumb"}),
    ],
)
def test_no_bar_where_it_would_disturb(words: list[str], variables: dict[str, str]) -> None:
    """Quiet is quiet, JSON stays JSON, and some terminals cannot take a line back."""
    shown, _ = on_a_terminal("run", "count", *words, **variables)
    assert "\x1b[K" not in shown


def test_colours_only_where_they_are_wanted() -> None:
    """On a terminal, unless NO_COLOR says otherwise."""
    assert "\x1b[" in on_a_terminal("run", "nothing")[0]
    assert "\x1b[" not in on_a_terminal("run", "nothing", NO_COLOR="1")[0]


def test_lines_in_a_log(toy: Any) -> None:
    """Numbers of their own, so that a log can be searched for them."""
    told = [json.loads(line) for line in toy("run", "count").stderr.splitlines()]
    last = next(each for each in told if each.get("finished"))
    assert ("counting", 3, 3, "sheep") == (
        last["event"],
        last["done"],
        last["total"],
        last["unit"],
    )


def test_a_line_now_and_then(
    quiet_logging: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not for each unit: only when enough time has passed."""
    configure_logs(LogSettings("json"))
    with progress(None, "counting", "sheep") as bar:
        for count, seconds in ((1, 3600.0), (4, 0.0), (1, 3600.0)):
            monkeypatch.setattr(progress_bar, "EVERY_SECONDS", seconds)
            bar.advance(count)
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(5, None), (6, True)] == [(each["done"], each.get("finished")) for each in told]
    assert all("total" not in each for each in told)


def test_a_failure_takes_the_bar_away_and_claims_nothing(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """What failed is not finished."""
    configure_logs(LogSettings("json"))
    with pytest.raises(ValueError, match="inside"), progress(3, "counting", "sheep"):
        raise ValueError("inside")
    assert "" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("total", "done", "seconds", "text"),
    [
        (None, 1234, 10.0, "counting 1,234 sheep  123.4/s"),
        (200, 50, 10.0, "█████░░░░░░░░░░░░░░░  25%  counting 50/200 sheep  5.0/s  0:30 left"),
        (9000, 1, 1.0, "counting 1/9,000 sheep  1.0/s  2:29:59 left"),
        (0, 0, 0.0, "counting 0/0 sheep  0.0/s"),
        (3, 5, 1.0, "100%  counting 5/3 sheep"),
    ],
)
def test_what_the_bar_says(
    monkeypatch: pytest.MonkeyPatch, total: int | None, done: int, seconds: float, text: str
) -> None:
    """Share, count, rate and time left, as far as they are known."""
    monkeypatch.setenv("COLUMNS", "120")
    bar = Progress(total, "counting", "sheep")
    bar.done = done
    assert text in bar.line(seconds)


def test_the_bar_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapped line could not be taken back."""
    monkeypatch.setenv("COLUMNS", "20")
    assert 19 == len(Progress(3, "counting", "sheep").line(1.0))


def test_logs_below_info_are_silent(quiet_logging: None) -> None:
    """--quiet holds for progress too."""
    configure_logs(LogSettings("console", logging.WARNING))
    assert Progress(3, "counting", "sheep")._silent
