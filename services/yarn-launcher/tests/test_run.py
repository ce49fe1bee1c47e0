import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from launcher_processes import alive, finish, until


def run_options(*options: str, workers: int = 2) -> tuple[str, ...]:
    return ("--workers", str(workers), *options)


@pytest.mark.parametrize(
    ("number", "code", "part"),
    [(signal.SIGTERM, 143, "0.1:stay"), (signal.SIGINT, 130, "0.1:say=bye")],
)
def test_a_launcher_that_is_told_to_stop_ends_everything(
    launches: Any, number: signal.Signals, code: int, part: str
) -> None:
    """Also what ignores SIGTERM and what left its process group; and it is on record."""
    process = launches.start(part, options=run_options())
    launches.note(0, 1)
    launches.note(1, 1)
    process.send_signal(number)
    assert (code, "") == finish(process)[:2]
    assert not [pid for pid in launches.pids() if alive(pid)]
    record = json.loads((launches.the_run() / "attempts/1.json").read_text())
    assert ("interrupted", f"the launcher got {number.name}") == (
        record["outcome"],
        record["cause"]["text"],
    )


def test_a_second_signal_does_not_wait_for_anybody(launches: Any) -> None:
    """Members that ignore SIGTERM are killed at once; the first signal is the cause."""
    process = launches.start("*.1:stay", options=run_options())
    launches.note(0, 1)
    launches.note(1, 1)
    process.send_signal(signal.SIGINT)
    for rank in range(2):  # two signals at once may be taken in either order
        until((launches.notes / f"{rank}.1.told").exists, f"member {rank} was told")
    process.send_signal(signal.SIGTERM)
    assert 130 == finish(process)[0]
    assert not [pid for pid in launches.pids() if alive(pid)]


def test_nothing_outlives_a_launcher_that_is_killed(launches: Any) -> None:
    """Workers, processes and what left their groups end; the next launcher says what happened."""
    process = launches.start(options=run_options(workers=3))
    for rank in range(3):
        launches.note(rank, 1)
    process.kill()
    finish(process)
    until(lambda: not [pid for pid in launches.pids() if alive(pid)], "all have ended")
    launches.go()
    code, out, _ = finish(launches.start(options=run_options(workers=3)))
    assert (0, str(launches.the_run())) == (code, out)
    lost = launches.record(out, "1.json")
    assert ("failed", "launcher-lost", None) == (
        lost["outcome"],
        lost["cause"]["kind"],
        lost["ended"],
    )
    assert "finished" == launches.record(out, "2.json")["outcome"]


def test_what_a_lost_launcher_could_not_end_the_next_one_ends(launches: Any) -> None:
    """A worker that is frozen does not hear that it is alone, and its process runs on."""
    process = launches.start(options=run_options(workers=1))
    note = launches.note(0, 1)
    os.kill(note["worker"], signal.SIGSTOP)
    process.kill()
    finish(process)
    assert alive(note["pid"])
    launches.go()
    assert 0 == finish(launches.start(options=run_options(workers=1)))[0]
    assert not [which for which in ("pid", "escaped") if alive(note[which])]
    assert 1 == launches.note(0, 2)["generation"]


@pytest.mark.parametrize("whom", ["pid", "worker"])
def test_a_gang_restarts_when_a_process_or_its_worker_is_killed(launches: Any, whom: str) -> None:
    """All begin anew in the next generation, at fresh ports; nothing of the first is left."""
    process = launches.start(options=run_options())
    first = [launches.note(rank, 1) for rank in range(2)]
    os.kill(first[1][whom], signal.SIGKILL)
    second = [launches.note(rank, 2) for rank in range(2)]
    before = [note[which] for note in first for which in ("pid", "escaped")]
    until(lambda: not any(map(alive, before)), "the first generation has ended")
    launches.go()
    code, out, _ = finish(process)
    assert 0 == code
    assert [0, 0, 1, 1] == [note["generation"] for note in first + second]
    ports = {address for note in first + second for address in note["config"]["cluster"]["worker"]}
    assert 4 == len(ports)
    survivor, other = (first[0]["worker"], second[0]["worker"])
    assert survivor == other
    assert (first[1]["worker"] == second[1]["worker"]) == (whom == "pid")
    record = launches.record(out, "1.json")
    kind = "signal" if whom == "pid" else "lost"
    assert (kind, 1, True) == (record["cause"]["kind"], record["cause"]["rank"], record["restarts"])
    assert "SIGKILL" in record["cause"]["text"]
    ends = ["stopped", "failed" if whom == "pid" else "lost"]
    assert ends == [worker["end"] for worker in record["workers"]]


def test_a_frozen_process_is_ended_with_its_gang(launches: Any) -> None:
    """SIGSTOP keeps a process from noticing anything but SIGKILL, which it gets."""
    process = launches.start("0.1:stay", options=run_options("--max-restarts=0"))
    frozen, other = (launches.note(rank, 1)["pid"] for rank in range(2))
    os.kill(frozen, signal.SIGSTOP)
    os.kill(other, signal.SIGKILL)
    assert 75 == finish(process)[0]
    assert not alive(frozen)


@pytest.mark.parametrize("whom", ["pid", pytest.param("worker", marks=pytest.mark.slow)])
def test_what_is_frozen_is_noticed_and_replaced(launches: Any, whom: str) -> None:
    """A process, or a worker: nobody else fails here, so that nobody else would tell."""
    process = launches.start("0.1:stay", options=run_options("--timeout-frozen=8"))
    first = [launches.note(rank, 1) for rank in range(2)]
    os.kill(first[1][whom], signal.SIGSTOP)
    second = [launches.note(rank, 2) for rank in range(2)]
    frozen = [first[1][which] for which in ("pid", "escaped")]
    until(lambda: not any(map(alive, frozen)), "what was frozen has ended")
    assert alive(first[1]["worker"]) == (whom == "pid")
    assert first[0]["worker"] == second[0]["worker"]
    launches.go()
    code, out, _ = finish(process)
    assert 0 == code
    cause = launches.record(out, "1.json")["cause"]
    kind = "signal" if whom == "pid" else "lost"
    assert (kind, 1) == (cause["kind"], cause["rank"])
    assert ("was stopped (SIGSTOP) for 4 s" if whom == "pid" else "it was frozen") in cause["text"]


@pytest.mark.parametrize("code", [65, 78])
def test_what_would_only_repeat_is_not_started_anew(launches: Any, code: int) -> None:
    """The run ends with the code of the process, after one attempt."""
    process = launches.start(f"1.*:exit={code}", options=run_options("--max-restarts=5"))
    assert (code, "") == finish(process)[:2]
    assert 1 == len(attempts_of(launches))


def test_the_restarts_end(launches: Any) -> None:
    """After the last attempt the run ends with what the first cause ended with."""
    process = launches.start("1.*:say=it hurts", "1.*:exit=9", options=run_options())
    code, out, err = finish(process)
    assert (9, "") == (code, out)
    assert "the process of worker 1 ended with exit code 9" in err
    assert "it hurts" in err
    assert 2 == len(attempts_of(launches))


def test_a_process_that_kills_itself_ends_the_run_with_try_again(launches: Any) -> None:
    """A signal has no exit code of its own: 75 says that the same command may succeed."""
    process = launches.start("0.*:kill", options=run_options("--max-restarts=0"))
    code, _, err = finish(process)
    assert 75 == code
    assert re.search(
        r"^error: the process of worker 0 on \S+ was killed by SIGKILL$", err, re.MULTILINE
    )


def test_the_first_cause_is_the_headline_of_a_failed_run(launches: Any) -> None:
    """The error that the program wrote, not the exit code alone; `explain` is proposed."""
    parts = ("1.*:say=ValueError: no such label", "1.*:exit=9")
    process = launches.start(*parts, options=run_options("--max-restarts=0"))
    err = finish(process)[2]
    (headline,) = (line for line in err.splitlines() if line.startswith("error: "))
    assert headline.endswith("ended with exit code 9: ValueError: no such label")
    assert f"  try    audioloom-yarn-launcher explain {launches.the_run()}\n" in err


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_each_worker_is_told_who_it_is(launches: Any, workers: int) -> None:
    """One TF_CONFIG but for the index, an address each, a port that is held and can be opened."""
    launches.go()
    code, out, _ = finish(launches.start(options=run_options(workers=workers)))
    assert (0, str(launches.the_run())) == (code, out)
    notes = [launches.note(rank, 1) for rank in range(workers)]
    addresses = notes[0]["config"]["cluster"]["worker"]
    assert workers == len(set(addresses))
    assert all(address.startswith("127.0.0.1:") for address in addresses)
    for rank, note in enumerate(notes):
        expected = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}
        assert expected == note["config"]
        assert ("EADDRINUSE", "bound") == (note["without_reuse"], note["with_reuse"])
        assert ("true", f"file://{launches.the_run()}") == (note["reuse"], note["folder"])


def test_no_connection_of_the_launcher_reaches_the_process(launches: Any) -> None:
    """It inherits standard input, output and error, and nothing else (one is its own listing)."""
    launches.go()
    assert 0 == finish(launches.start(options=run_options()))[0]
    assert [[0, 1, 2, 3]] * 2 == [launches.note(rank, 1)["open"] for rank in range(2)]


def test_stdout_is_the_result_alone(launches: Any) -> None:
    """The output of the members is in their logs; the location is all that is printed."""
    process = launches.start("0.1:say=hello", "0.1:commit", "1.1:exit=0", options=run_options())
    code, out, _ = finish(process)
    assert (0, str(launches.the_run() / "manifest.json")) == (code, out)
    log = (launches.the_run() / "logs/0/1.log").read_text()
    assert "member 0 of attempt 1\nhello\n" == log


def test_the_result_as_json_is_one_object(launches: Any) -> None:
    """Also when the run fails."""
    process = launches.start("0.1:exit=65", options=run_options("--json"))
    code, out, _ = finish(process)
    result = json.loads(out)
    assert (65, 65) == (code, result["exit_code"])
    assert ("audioloom.yarn-launcher.run", 1, None) == (
        result["kind"],
        result["attempts"],
        result["manifest"],
    )
    assert "the process of worker 0 ended with exit code 65" == result["cause"]


def test_what_is_committed_is_not_run_again(launches: Any) -> None:
    """Whatever the number of workers; the answer is the same."""
    first = finish(launches.start("0.1:commit", "1.1:exit=0", options=run_options()))
    again = launches.start("0.1:commit", "1.1:exit=0", options=run_options(workers=3))
    code, out, err = finish(again)
    assert first[:2] == (code, out)
    assert "already committed" in err
    assert 1 == len(attempts_of(launches))


def test_a_damaged_manifest_is_no_success(launches: Any) -> None:
    """Neither for `run`, which began nothing anew, nor for who looks: 65, and it is named."""
    first = finish(launches.start("0.1:commit", "1.1:exit=0", options=run_options()))
    manifest = launches.the_run() / "manifest.json"
    assert (0, str(manifest)) == first[:2]
    manifest.write_text('{"kind":"training-run"')
    again = launches.start("0.1:commit", "1.1:exit=0", options=run_options())
    code, out, err = finish(again)
    assert (65, "", True) == (code, out, str(manifest) in err)
    assert "already committed" not in err
    assert 1 == len(attempts_of(launches))
    for verb in ("status", "explain"):
        code, out, err = launches.run(verb, str(launches.the_run()))
        assert (65, "", True) == (code, out, str(manifest) in err)


def test_a_worker_lost_after_the_commit_does_not_undo_it(launches: Any) -> None:
    """The manifest's presence is success; the record keeps what happened to the other."""
    process = launches.start("0.1:commit", options=run_options())
    other = launches.note(1, 1)["pid"]
    manifest = launches.the_run() / "manifest.json"
    until(manifest.exists, "the manifest")
    os.kill(other, signal.SIGKILL)
    code, out, _ = finish(process)
    assert (0, str(manifest)) == (code, out)
    record = launches.record(str(launches.the_run()), "1.json")
    assert ("finished", 0, "signal") == (
        record["outcome"],
        record["exit_code"],
        record["cause"]["kind"],
    )


def test_a_name_belongs_to_one_command(launches: Any) -> None:
    """Given by hand to another, it is refused before anything runs."""
    launches.go()
    options = run_options("--name=mine")
    assert 0 == finish(launches.start(options=options))[0]
    code, out, err = finish(launches.start("0.1:exit=1", options=options))
    assert (73, "") == (code, out)
    assert "belongs to another command" in err
    assert 1 == len(attempts_of(launches))


def test_of_two_launchers_one_waits_for_the_other(launches: Any) -> None:
    """The second starts nothing, and answers what the first has committed."""
    first = launches.start("0.1:say=working", "1.1:exit=0", options=run_options())
    launches.note(0, 1)
    second = launches.start("0.1:say=working", "1.1:exit=0", options=run_options())
    heard = second.stderr.readline()
    assert "another launcher is at work" in heard
    (launches.the_run() / "manifest.json").write_text("{}")
    launches.go()
    outcomes = [finish(process)[:2] for process in (first, second)]
    assert [(0, str(launches.the_run() / "manifest.json"))] * 2 == outcomes
    assert 1 == len(attempts_of(launches))


def test_a_launcher_need_not_wait(launches: Any) -> None:
    """It says who is at work, and that the same command may be tried again."""
    first = launches.start(options=run_options())
    launches.note(0, 1)
    code, out, err = finish(launches.start(options=run_options("--no-wait")))
    assert (75, "") == (code, out)
    assert f"process {first.pid} on" in err
    launches.go()
    assert 0 == finish(first)[0]


def test_many_launchers_at_once_work_one_after_the_other(launches: Any) -> None:
    """However they race, no two of them own the same attempt, and each one ends."""
    launches.go()
    racing = [launches.start(options=run_options(workers=1)) for _ in range(3)]
    assert [0] * 3 == [finish(process)[0] for process in racing]
    records = [json.loads(path.read_text()) for path in attempts_of(launches)]
    assert [1, 2, 3] == sorted(record["attempt"] for record in records)
    assert 3 == len({record["launch"] for record in records})


def test_a_launcher_of_another_machine_is_not_declared_gone(launches: Any) -> None:
    """Nobody here can ask it; who knows better names the attempt to take over."""
    launches.go()
    assert 0 == finish(launches.start(options=run_options(workers=1)))[0]
    attempts = launches.the_run() / "attempts"
    started = json.loads((attempts / "1.started.json").read_text())
    started["owner"] |= {"host": "elsewhere", "boot": "another"}
    (attempts / "1.started.json").write_text(json.dumps(started))
    (attempts / "1.json").unlink()
    code, _, err = finish(launches.start(options=run_options(workers=1)))
    assert 75 == code
    assert "--take-over 1" in err
    options = run_options("--take-over=1", workers=1)
    assert 0 == finish(launches.start(options=options))[0]
    assert "launcher-lost" == launches.record(str(launches.the_run()), "1.json")["cause"]["kind"]
    assert (attempts / "2.json").exists()


@pytest.mark.parametrize(
    ("command", "found"),
    [("no-such-program", "no such program"), ("./plain", "a file that is not executable")],
)
def test_a_command_that_cannot_be_run_is_refused_at_once(
    launches: Any, command: str, found: str
) -> None:
    """Nothing is written for it."""
    (launches.folder / "plain").write_text("no program")
    code, out, err = launches.run("run", "--root", str(launches.root), "--", command)
    assert (2, "") == (code, out)
    assert found in err
    assert not launches.root.exists()


def test_a_program_that_vanishes_is_not_started_anew(launches: Any) -> None:
    """It was there when the launcher looked, and cannot be executed."""
    broken = launches.folder / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    code, _, err = launches.run("run", "--root", str(launches.root), "--", str(broken))
    assert 127 == code
    assert "there is no such program" in err
    assert 1 == len(attempts_of(launches))


def attempts_of(launches: Any) -> list[Path]:
    """The records of ended attempts."""
    records = (launches.the_run() / "attempts").glob("*.json")
    return sorted(path for path in records if path.stem.isdigit())
