import subprocess

import pytest
from audioloom_yarn_launcher.runs.process_identity import is_alive, this_process, ticks_at_start


def test_this_process_is_alive() -> None:
    """And is described as itself each time."""
    assert is_alive(this_process())
    assert this_process() == this_process()


@pytest.mark.parametrize("change", [{"boot": "another"}, {"namespace": 1}, {"boot": ""}])
def test_nobody_can_tell_of_another_machine_or_container(change: dict[str, object]) -> None:
    """Then the answer is neither yes nor no, also if such a process number exists here."""
    assert is_alive(this_process().model_copy(update=change)) is None


def test_a_number_that_was_given_again_is_another_process() -> None:
    """The start time tells them apart."""
    me = this_process()
    assert not is_alive(me.model_copy(update={"start_ticks": me.start_ticks - 1}))


def test_a_process_that_ended_is_gone_before_it_is_reaped() -> None:
    """A zombie does no work."""
    process = subprocess.Popen(["/bin/sleep", "300"])
    ticks = ticks_at_start(process.pid)
    owner = this_process().model_copy(update={"pid": process.pid, "start_ticks": ticks})
    assert is_alive(owner)
    process.kill()
    while is_alive(owner):
        pass
    process.wait()
    assert not is_alive(owner)
