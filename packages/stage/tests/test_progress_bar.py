from __future__ import annotations

import json
import logging
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import structlog
from audioloom_stage import progress_bar
from audioloom_stage.logs import LogSettings, configure_logs
from audioloom_stage.progress_bar import Progress, bar_line, progress, working

TOY = Path(__file__).with_name("toy.py")
JSON = ("--log-format", "json")


def on_a_terminal(*words: str, code: int = 0, **variables: str) -> tuple[str, str]:
    """Run the toy with stderr on a terminal; answer what it showed, and its stdout."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, TOY, *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=os.environ | {"TERM": "xterm"} | variables,
        timeout=60,
        check=False,
    )
    assert code == done.returncode
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


@pytest.mark.parametrize(
    ("words", "code"), [(("run", "nothing"), 0), (("run", "bad"), 65), (("run", "x", "--lanez"), 2)]
)
def test_a_command_says_at_once_that_it_starts(words: tuple[str, ...], code: int) -> None:
    """The line is the first on a terminal, and gone before any other, of an error too."""
    shown, _ = on_a_terminal(*words, code=code)
    first, _, rest = shown.partition("starting")
    assert "\r\x1b[K" == first
    assert rest.startswith("\r\x1b[K")
    assert "starting" not in rest


@pytest.mark.parametrize("words", [("run", "--help"), ("run", "nothing", "--quiet")])
def test_a_quiet_command_does_not_say_that_it_starts(words: tuple[str, ...]) -> None:
    """Nor does a help page."""
    assert "starting" not in on_a_terminal(*words)[0]


def test_a_bar_on_a_terminal() -> None:
    """Drawn over itself, taken away at the end, and log lines stay whole."""
    shown, out = on_a_terminal("run", "count")
    assert re.search(r"waking the sheep  \d:\d\d", shown)
    assert re.search(r"counting [01]/3 sheep  \d:\d\d", shown)
    assert re.search(r"counting 2/3 sheep  [\d.]+/s  \d:\d\d left", shown)
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
    colour = re.compile(r"\x1b\[\d+m")
    assert colour.search(on_a_terminal("run", "nothing")[0])
    assert not colour.search(on_a_terminal("run", "nothing", NO_COLOR="1")[0])


def test_lines_in_a_log(toy: Any) -> None:
    """A log that nobody watches has readable lines too."""
    told = toy("run", "count").stderr
    assert re.search(r"Z waking the sheep\n", told)
    assert re.search(r"Z waking the sheep, \d:\d\d so far\n", told)
    assert re.search(r"Z counting: [01] of 3 sheep, \d:\d\d so far\n", told)
    assert re.search(r"Z counting: 2 of 3 sheep, [\d.]+/s  \d:\d\d left\n", told)
    assert re.search(r"Z counting: 3 sheep in \d+\.\d s\n", told)


def test_json_lines_have_numbers_of_their_own(toy: Any) -> None:
    """A log can be searched for them; the lines of the thread have the bound values too."""
    told = [json.loads(line) for line in toy("run", "count", *JSON).stderr.splitlines()]
    last = next(each for each in told if each.get("finished"))
    assert ("counting", 3, 3, "sheep") == tuple(
        last[key] for key in ("event", "done", "total", "unit")
    )
    assert {("toy", "toy-1")} == {(each["stage"], each["run"]) for each in told}


def test_a_failure_takes_the_bar_away_and_claims_nothing(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """What failed is not finished."""
    configure_logs(LogSettings())
    with pytest.raises(ValueError, match="inside"), progress(3, "counting", "sheep"):
        raise ValueError("inside")
    assert "" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("total", "done", "rate", "text"),
    [
        (None, 1234, 123.4, "counting 1,234 sheep  123.4/s"),
        (200, 50, 5.0, "█████░░░░░░░░░░░░░░░  25%  counting 50/200 sheep  5.0/s  0:30 left"),
        (9000, 1, 1.0, "counting 1/9,000 sheep  1.0/s  2:29:59 left"),
        (0, 0, None, "counting 0/0 sheep"),
        (3, 5, None, "100%  counting 5/3 sheep"),
    ],
)
def test_what_the_bar_says(total: int | None, done: int, rate: float | None, text: str) -> None:
    """Share, count, rate and time left, as far as they are known."""
    assert text in bar_line("counting", "sheep", done, total, rate)


@pytest.mark.parametrize(("total", "text"), [(None, "1 file"), (1, "1/1 file"), (2, "1/2 files")])
def test_one_is_no_plural(total: int | None, text: str) -> None:
    """The noun follows the number before it."""
    assert bar_line("counting", "files", 1, total, None).endswith(f"counting {text}")


def test_the_rate_counts_from_the_first_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the start nor the units of an earlier run are in the rate and the time left."""
    monkeypatch.setenv("COLUMNS", "120")
    now = 1000.0
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now)
    bar = Progress(100, "counting", "sheep")
    bar.done += 50
    now += 30  # Spark starts
    assert bar.line().endswith("counting 50/100 sheep  0:30")
    bar.advance(10)
    assert None is bar.rate
    now += 4
    bar.advance(20)
    assert 5.0 == bar.rate
    assert bar.line().endswith("counting 80/100 sheep  5.0/s  0:04 left")


def test_the_bar_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapped line could not be taken back."""
    monkeypatch.setenv("COLUMNS", "20")
    assert 19 == len(Progress(3, "counting", "sheep").line())


def test_a_library_shows_nothing(
    quiet_logging: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that has not configured its log, such as a notebook, did not ask for bars."""
    structlog.reset_defaults()
    monkeypatch.setattr(progress_bar, "EVERY_SECONDS", 0.0)
    with progress(3, "counting", "sheep") as bar, working("waking the sheep"):
        bar.advance()
    assert ("", "") == capsys.readouterr()


def test_logs_below_info_are_silent(toy: Any) -> None:
    """--quiet holds for progress too."""
    assert "" == toy("run", "count", "--quiet").stderr


class Drawn:
    """A view that says when it was drawn."""

    def __init__(self) -> None:
        self.times = 0
        self.first = threading.Event()

    def tick(self) -> None:
        self.times += 1
        self.first.set()


def test_an_interrupt_during_the_start_ends_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C as soon as the first view is drawn leaves nothing that draws it again."""
    configure_logs(LogSettings(format="console", level=logging.INFO))
    view, start = Drawn(), threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        assert view.first.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), progress_bar.shown(view.tick, 0.01):
        pytest.fail("the block was entered")
    assert not [each for each in threading.enumerate() if each.name == "progress"]
