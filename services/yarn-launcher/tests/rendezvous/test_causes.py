import pytest
from audioloom_yarn_launcher.rendezvous.causes import (
    REPEATING,
    WorkerLost,
    describe_end,
    first_cause,
)
from audioloom_yarn_launcher.rendezvous.messages import Exit, Reports


def reports(*codes: int | None, first: int | None = None, stopped: int | None = None) -> Reports:
    exits = {
        rank: Exit(f"worker-{rank}", code=code, stopped=rank == stopped)
        for rank, code in enumerate(codes)
        if code is not None
    }
    return Reports(exits=exits, first=first)


@pytest.mark.parametrize(
    ("codes", "first", "lost", "rank"),
    [
        ((1, 1, 1), 2, {}, 2),  # equals: who was first
        ((75, 1), 0, {}, 1),  # a lost peer is an echo, though reported first
        ((-6, 1), 0, {}, 1),  # and so is TensorFlow's abort
        ((1, -9), 0, {}, 1),  # who was killed did not give up because of another
        ((1, None), 0, {1: "gone"}, 1),  # nor did who vanished
        ((-9, 65), 0, {}, 1),  # a verdict on the input will be there again
        ((75, 75), 1, {}, 1),
        ((None, 0), None, {0: "gone"}, 0),
    ],
)
def test_the_first_cause_is_told_from_its_echoes(
    codes: tuple[int | None, ...], first: int, lost: dict[int, str], rank: int
) -> None:
    """By what it is, then by when it was reported."""
    losses = {rank: WorkerLost(text) for rank, text in lost.items()}
    assert rank == first_cause(reports(*codes, first=first), losses).rank


def test_a_loss_that_will_repeat_is_no_reason_to_start_anew() -> None:
    """Its code says so, and outranks what was killed with it."""
    damaged = WorkerLost("a file is damaged", 65)
    cause = first_cause(reports(-9, None, first=0), {1: damaged})
    assert ("lost", 1, 65, True) == (cause.kind, cause.rank, cause.exit_code, cause.repeats)
    assert "worker 1 was lost: a file is damaged" == cause.text
    again = first_cause(reports(0, None), {1: WorkerLost("its node was lost")})
    assert (75, False) == (again.exit_code, again.repeats)


def test_a_process_that_the_launcher_stopped_is_no_cause() -> None:
    """It ended because of another."""
    assert 1 == first_cause(reports(-9, 1, first=1, stopped=0), {}).rank


@pytest.mark.parametrize(
    ("code", "exit_code", "repeats"),
    [(1, 1, False), (-9, 75, False), (65, 65, True), (70, 70, False), (127, 127, True)],
)
def test_a_cause_says_what_the_run_ends_with(code: int, exit_code: int, repeats: bool) -> None:
    """A signal becomes try again, any other code stays as it is."""
    cause = first_cause(reports(code, first=0), {})
    assert (exit_code, repeats) == (cause.exit_code, cause.repeats)


def test_the_codes_that_repeat_are_those_of_the_contract() -> None:
    """And a shell's two for what cannot be run."""
    assert {2, 65, 66, 73, 77, 78, 126, 127} == REPEATING


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, "ended with exit code 3"),
        (-11, "was killed by SIGSEGV"),
        (-63, "was killed by signal 63"),
        (127, "could not be started: there is no such program"),
        (126, "could not be started: the program cannot be run"),
    ],
)
def test_an_end_is_described_in_words(code: int, text: str) -> None:
    """To go on with a subject."""
    assert text == describe_end(code)
