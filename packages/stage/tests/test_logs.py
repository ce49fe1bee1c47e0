from __future__ import annotations

import json
import logging
import math
import pickle
import re
from typing import Any

import pytest
import structlog
from audioloom_stage.logs import LogSettings, bind, configure_logs, current_logs

JSON = ("--log-format", "json")


def lines(stderr: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr.splitlines()]


def test_json_lines_on_request(toy: Any) -> None:
    """Time in UTC, level and event first, stage and run on each."""
    told = lines(toy("run", "nothing", *JSON).stderr)
    assert ["timestamp", "level", "event"] == list(told[0])[:3]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", told[0]["timestamp"])
    assert {("toy", "toy-1")} == {(each["stage"], each["run"]) for each in told}


def test_other_libraries_from_warning_on(program: Any) -> None:
    """py4j and TensorFlow talk much; Python's warnings come along."""
    told = lines(program("run", "foreign", *JSON).stderr)
    assert [
        ("toy", "working"),
        ("tensorflow", "careful with this"),
        ("py.warnings", None),
        ("toy", "secret"),
        ("toy", "went wrong"),
        ("toy", "next"),
    ] == [
        (
            each.get("logger", each["stage"]),
            None if each.get("logger") == "py.warnings" else each["event"],
        )
        for each in told
    ]


def test_verbose_is_about_us(program: Any) -> None:
    """Details of ours, and still no chatter of others; --debug shows both."""
    events = [each["event"] for each in lines(program("run", "foreign", "-v", *JSON).stderr)]
    assert "details" in events
    assert "chatter" not in events
    events = [each["event"] for each in lines(program("run", "foreign", "--debug", *JSON).stderr)]
    assert {"details", "chatter"} < set(events)


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_secret_is_not_logged(program: Any, form: str) -> None:
    """Neither by itself nor inside the settings, with tracebacks or without."""
    for more in ([], ["--debug"]):
        done = program("run", "foreign", "--log-format", form, *more, PASSWORD="sesame")  # noqa: S106
        assert 0 == done.returncode
        assert "sesame" not in done.stderr + done.stdout
        assert "*****" in done.stderr


def test_an_exception_that_is_logged_is_told_in_one_line(program: Any) -> None:
    """Its stack is for --debug, in both forms."""
    (told,) = [
        e for e in lines(program("run", "foreign", *JSON).stderr) if e["event"] == "went wrong"
    ]
    assert "ValueError: invalid literal for int() with base 10: 'inner'" == told["error"]
    assert "exception" not in told
    for form in ("console", "json"):
        stderr = program("run", "foreign", "--debug", "--log-format", form).stderr
        assert "Traceback (most recent call last)" in stderr


def test_lines_are_readable_by_default(toy: Any) -> None:
    """No JSON, no bound values, no colours off a terminal, and nothing that a terminal obeys."""
    first, *_ = toy("run", "nothing").stderr.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ working  file=evil\\x1b\[2Jname", first)


def test_a_level_above_info_is_named(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person sees at once which line is a warning."""
    configure_logs(LogSettings())
    structlog.get_logger().warning("few groups", groups=3)
    assert capsys.readouterr().err.endswith("Z warning: few groups  groups=3\n")


@pytest.mark.parametrize(
    ("form", "expected"), [("console", "epoch 1/12  loss 0.5\n"), ("json", '"loss": 0.5}\n')]
)
def test_an_entry_may_have_a_sentence_for_people(
    quiet_logging: None, capsys: pytest.CaptureFixture[str], form: Any, expected: str
) -> None:
    """People get the sentence alone, programs the values alone."""
    configure_logs(LogSettings(form))
    structlog.get_logger().info("epoch", readable="epoch 1/12  loss 0.5", loss=0.5)
    told = capsys.readouterr().err
    assert told.endswith(expected)
    assert 1 == told.count("loss")


def test_json_has_no_number_that_is_not_finite(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most programs that read JSON refuse the whole line."""
    configure_logs(LogSettings("json"))
    scores = {"loss": math.nan, "all": [math.inf, 1.5]}
    structlog.get_logger().info("epoch", loss=-math.inf, scores=scores)
    line = json.loads(capsys.readouterr().err, parse_constant=pytest.fail)
    assert (None, {"loss": None, "all": [None, 1.5]}) == (line["loss"], line["scores"])


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_line_that_cannot_be_formatted_is_told(
    quiet_logging: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    form: Any,
) -> None:
    """By its text alone, masked like all others: its arguments may be secrets."""
    monkeypatch.setattr(logging.root, "handlers", [])  # those of pytest raise the error
    configure_logs(LogSettings(form))
    logging.getLogger("py4j").warning("password=sesame: %d\x1b[2J", "open")

    class Odd:
        def __repr__(self) -> str:
            raise KeyError("open")

    structlog.get_logger().warning("odd", value=Odd())
    told = capsys.readouterr().err
    assert 2 == told.count("cannot be formatted")
    assert "password=**********" in told
    assert not [word for word in ("sesame", "open", "\x1b") if word in told]
    assert 2 == len(told.splitlines())


def test_bound_values_are_on_every_line_inside(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """And gone after it, where `bind` stays."""
    configure_logs(LogSettings("json", bound={"stage": "toy"}))
    log = structlog.get_logger()
    bind(run="r")
    with structlog.contextvars.bound_contextvars(input="a.wav"):
        log.info("in")
    log.info("out")
    told = lines(capsys.readouterr().err)
    assert [("in", "toy", "r", "a.wav"), ("out", "toy", "r", None)] == [
        (each["event"], each["stage"], each["run"], each.get("input")) for each in told
    ]


def test_another_process_can_log_the_same_way(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was bound travels along."""
    configure_logs(LogSettings("json", logging.WARNING, bound={"stage": "toy"}))
    bind(run="r")
    settings = pickle.loads(pickle.dumps(current_logs()))  # noqa: S301
    configure_logs(LogSettings("console"))
    configure_logs(settings)
    log = structlog.get_logger()
    log.info("not shown")
    log.warning("shown")
    (told,) = lines(capsys.readouterr().err)
    assert ("shown", "toy", "r") == (told["event"], told["stage"], told["run"])


def test_configuring_twice_writes_once(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """And leaves handlers that others put there."""
    other = logging.NullHandler()
    logging.root.addHandler(other)
    configure_logs(LogSettings("json"))
    configure_logs(LogSettings("json"))
    logging.getLogger("py4j").warning("once")
    assert 1 == len(lines(capsys.readouterr().err))
    assert other in logging.root.handlers


def test_values_that_are_no_json_are_shown_all_the_same(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log line never ends the work."""
    configure_logs(LogSettings("json"))
    structlog.get_logger().info("odd", thing={1, 2}, name="\udcff", number=float("nan"))
    assert "odd" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_secret_in_what_is_logged_is_masked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: Any
) -> None:
    """In events, values at any depth, other libraries' messages, errors and tracebacks."""
    monkeypatch.setattr(logging.root, "handlers", [])
    for debug in (False, True):
        configure_logs(LogSettings(form, debug=debug))
        log = structlog.get_logger()
        log.info("calling", url="https://me:hunter2@h/", sent={"auth": {"token": "hunter2"}})
        logging.getLogger("other").warning("got %s", "Authorization: Bearer hunter2")
        log.error("failed", exc_info=ValueError("\x1b[2J --password hunter2"))
    told = capsys.readouterr().err
    assert 2 <= told.count("failed")
    assert not any(each in told for each in ("\x1b[2J", "hunter2"))


def test_no_json_line_steers_a_terminal(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """C1, DEL and directions in events, keys and values of any depth; readers get what was said."""
    configure_logs(LogSettings("json"))
    evil = "a\x9b31m\u202e\x7f\u2028ü"
    structlog.get_logger().warning(evil, items=[evil], more={evil: evil})
    told = capsys.readouterr().err
    assert told.removesuffix("\n").isprintable()
    assert "ü" in told
    assert (evil, [evil], {evil: evil}) == tuple(
        json.loads(told)[each] for each in ("event", "items", "more")
    )


def test_no_event_looks_like_two_lines_of_the_log(
    quiet_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever says it, and whatever else is told; a traceback has lines of its own."""
    configure_logs(LogSettings("console", debug=True))
    forged = "a\n2026-01-01T00:00:00Z error: forged"
    structlog.get_logger().warning(forged, path=forged, items=[forged])
    logging.getLogger("other").warning(forged)
    try:
        int("no")
    except ValueError:
        structlog.get_logger().exception(forged)
    told = capsys.readouterr().err.splitlines()
    assert [] == [line for line in told if line.startswith("2026-01-01T00")]
    assert 3 == sum(r"a\n2026-01-01T00" in line for line in told)
    assert "Traceback (most recent call last):" == told[3]
    assert told[-1].startswith("ValueError: ")
