import faulthandler
import os
import signal

import pytest
from audioloom_voices.demo.isolated import call_each
from audioloom_voices.errors import EngineMissing, SynthesisFailed


def test_an_explained_error_arrives_with_its_text() -> None:
    """What the function says about its failure is what the caller reads."""

    def fail(item: int) -> bytes:
        raise EngineMissing(f"no voice {item}")

    with pytest.raises(SynthesisFailed, match="no voice 3"):
        list(call_each(fail, [3], at_once=1))


def test_a_bug_is_told_with_its_place(capfd: pytest.CaptureFixture[str]) -> None:
    """The traceback is on stderr, and the caller learns that the process died."""

    def fail(item: int) -> bytes:
        return bytes([1 // item])

    with pytest.raises(SynthesisFailed, match="died: exit code 70"):
        list(call_each(fail, [0], at_once=1))
    assert "ZeroDivisionError" in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGINT])
def test_a_killed_process_is_not_an_empty_recording(number: signal.Signals) -> None:
    """Neither a crash of the engine nor Ctrl-C may pass for silence."""

    def die(_: int) -> bytes:
        faulthandler.disable()  # a crash that is meant shall not look like one that is not
        os.kill(os.getpid(), number)
        return b""

    with pytest.raises(SynthesisFailed, match=f"killed by signal {number.value}$"):
        list(call_each(die, [0], at_once=1))


@pytest.mark.parametrize("at_once", [1, 3, 50])
def test_results_come_in_the_order_of_the_items(at_once: int) -> None:
    """And each is larger than a pipe holds, so nobody may wait for a writer to end."""
    results = list(call_each(lambda n: bytes([n]) * 200_000, range(20), at_once))
    assert [bytes([n]) * 200_000 for n in range(20)] == results


def test_no_call_sees_what_another_left_behind() -> None:
    """Every call starts from the caller's state."""
    seen = bytearray()

    def remember(item: int) -> bytes:
        seen.append(item)
        return bytes(seen)

    assert [b"\0", b"\1", b"\2"] == list(call_each(remember, range(3), at_once=2))
    assert seen == b""


def test_stopping_early_leaves_no_process() -> None:
    """A caller that takes one result of many does not leave zombies or hang."""
    results = call_each(lambda n: bytes([n]) * 200_000, range(20), at_once=5)
    next(results)
    results.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
