"""What the commands of a local gang listen at: the addresses that they advertise, and no others."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from audioloom_stage.listeners import open_to_others
from audioloom_yarn_launcher.system.processes import tree
from launcher_processes import finish, until

HERE = "127.0.0.5"
SERVER = """
import json, os, socket, sys, time
config = json.loads(os.environ["TF_CONFIG"])
mine = config["cluster"]["worker"][config["task"]["index"]]
both = socket.socket(socket.AF_INET6)
both.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
both.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
both.bind(("::", int(mine.rpartition(":")[2])))
both.listen()
print(json.dumps([mine, both.getsockname()[:2]]), flush=True)
host, _, number = mine.rpartition(":")
socket.create_connection((host, int(number))).close()
log = os.path.join(os.environ["AUDIOLOOM_RUN_FOLDER"].removeprefix("file://"), "logs/0/1.log")
while "wait" in sys.argv and "warning: " not in open(log).read():
    time.sleep(0.05)
"""


def run(launches: Any, *command: str, **options: str) -> tuple[Path, str, str]:
    """Run one worker to its end: the run's folder, the worker's log, and what `run` said."""
    flags = [f"--{name}={value}" for name, value in options.items()]
    words = ("run", f"--root={launches.root}", "--workers=1", *flags, "--", *command)
    code, out, err = launches.run(*words)
    assert 0 == code, err
    return Path(out), Path(out, "logs/0/1.log").read_text(), err


def seat(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "attempts/1.members.json").read_text())
    return dict(found["workers"][0])


def test_a_server_of_a_command_listens_at_the_advertised_address(launches: Any) -> None:
    """As TensorFlow's is made: at the port that the worker holds, of both families."""
    folder, said, err = run(launches, sys.executable, "-c", SERVER, advertise=HERE)
    address, (host, port) = json.loads(said)
    assert (address, f"::ffff:{HERE}") == (f"{HERE}:{port}", host)
    assert (address, "") == (seat(folder)["address"], seat(folder)["exposed"])
    assert "warning" not in err


def test_a_program_that_goes_past_the_library_is_told_in_its_log(launches: Any) -> None:
    """One that drops its variables, as one would that does without glibc."""
    past = ("env", "--unset=LD_PRELOAD", sys.executable, "-c", SERVER, "wait")
    _, said, _ = run(launches, *past, advertise=HERE)
    first, warning, *_ = said.splitlines()
    _, (host, port) = json.loads(first)
    assert "::" == host
    assert f"listens at every address, port {port}, and not at {HERE} alone" in warning


def test_where_it_cannot_be_had_everybody_is_told(launches: Any) -> None:
    """`run`, `status`, the record of the members and the worker's log say why; the run goes on."""
    program = (sys.executable, "-c", "import os; print(os.environ.get('LD_PRELOAD'))")
    folder, said, err = run(launches, *program, advertise="240.0.0.1")
    why = "240.0.0.1 is not an address of this machine"
    assert why == seat(folder)["exposed"]
    assert f"exposed   {why}" in launches.run("status", str(folder))[1]
    assert "open at every address of the machine" in err
    assert why in err
    assert why in said.splitlines()[0]
    assert str(os.environ.get("LD_PRELOAD")) == said.splitlines()[1]


def test_the_launcher_itself_is_not_started_with_the_library(launches: Any) -> None:
    """It is for the command alone."""
    program = (
        "import os\n"
        "print(open(f'/proc/{os.getppid()}/environ').read().count('AUDIOLOOM_BIND_ADDRESS'),"
        " os.environ['AUDIOLOOM_BIND_ADDRESS'])"
    )
    _, said, _ = run(launches, sys.executable, "-c", program)
    assert "0 127.0.0.1\n" == said


def test_nobody_of_a_local_run_is_open_to_others(launches: Any) -> None:
    """Launcher, workers and what they run, all at once, at the address that is the default."""
    command = (sys.executable, "-c", SERVER, "wait")
    process = launches.program("run", f"--root={launches.root}", "--name=open", "--", *command)
    log = launches.root / "runs/open/logs/0/1.log"
    until(lambda: log.exists() and log.read_text().endswith("\n"), "it listens")
    everybody = tree(process.pid)
    assert [] == open_to_others(everybody, [])
    assert json.loads(log.read_text())[0].startswith("127.0.0.1:")
    assert len(everybody) >= 3
    process.terminate()
    assert 143 == finish(process)[0]
