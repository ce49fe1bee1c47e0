"""Training in containers on two nodes: a worker is killed, then the launcher that waits for it."""

import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from audioloom_mini_cluster.faults import listening
from audioloom_quickstart.programs import read_manifest
from audioloom_storage import exists
from deployment import Command, Deployment, address_of, kill, rank_of, until
from gang_launch import ONE_A_NODE, launch
from stage_run import StageRun

NAME = "languages"
CHECKPOINTS = f"runs/{NAME}/checkpoints"
EPOCHS, BATCH = 60, 32


@dataclass(frozen=True)
class Killed:
    """The process that was killed.

    Args:
        rank: of the worker.
        interpreter: that it ran on.
        words: its command line.
        address: that TF_CONFIG tells the others.
        reached: at which addresses of this machine its server answered before that.
    """

    rank: int
    interpreter: Path
    words: list[str]
    address: str
    reached: list[str]


@dataclass(frozen=True)
class Trained:
    """How training went."""

    killed: Killed
    manifest: str

    @property
    def folder(self) -> str:
        """The run's."""
        return self.manifest.removesuffix("/manifest.json")


@pytest.fixture(scope="session")
def trained(deployment: Deployment, sharding: StageRun, environment: str) -> Trained:
    """A run that was interrupted twice."""
    first = start(deployment, sharding.manifest, environment)
    killed = kill_a_worker(deployment, first)
    first.until_said("restarting")
    first.kill()  # nobody waits any more, and nobody has to
    again = start(deployment, sharding.manifest, environment)
    manifest = again.answer()
    deployment.until_quiet()  # success is the manifest; some records come after it
    return Trained(killed, manifest)


def start(deployment: Deployment, shards: str, environment: str) -> Command:
    """Start the training run, or go on with it."""
    checkpoints = ("--checkpoint-steps", "20")
    return launch(
        deployment, shards, environment, NAME, *checkpoints, epochs=EPOCHS, gang=ONE_A_NODE
    )


def kill_a_worker(deployment: Deployment, launcher: Command) -> Killed:
    """SIGKILL the trainer of rank 1 when there is a checkpoint, long before the last step."""
    launcher.until_said("the gang is complete")

    def checkpoint() -> bool:
        assert launcher.process.poll() is None, launcher.said
        return any(exists(step / "commit.json") for step in deployment.children(CHECKPOINTS))

    until(checkpoint, "the first checkpoint")
    for pid, words, variables in deployment.processes("audioloom-trainer"):
        with suppress(KeyError, OSError):
            if rank_of(variables) == 1:
                address = address_of(variables)
                reached = where_it_answers(address.rpartition(":")[2], deployment.cluster.nodes)
                interpreter = Path(f"/proc/{pid}/exe").resolve()
                killed = Killed(1, interpreter, words, address, reached)
                kill(pid)
                return killed
    raise AssertionError(f"no trainer of rank 1 is there\n{launcher.said}")


def where_it_answers(port: str, nodes: Sequence[str]) -> list[str]:
    """Of the nodes' addresses and others of this machine, those at which a server listens."""
    hosts = [*nodes, "127.0.0.1"]
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        route.connect(("192.0.2.1", 9))  # nothing is sent: it is only looked for the way
        hosts.append(str(route.getsockname()[0]))
    return listening([f"{host}:{port}" for host in hosts])


def test_a_worker_listens_at_the_nodes_address_alone(trained: Trained) -> None:
    """Real TensorFlow in a container, which would listen at every address; the record names one."""
    assert [trained.killed.address] == trained.killed.reached


def test_a_killed_worker_starts_the_gang_anew(deployment: Deployment, trained: Trained) -> None:
    """The cause is on record, and the run ends well nevertheless, from its last checkpoint."""
    status = deployment.status(trained.folder)
    assert ["failed", "finished"] == [each["outcome"] for each in status["attempts"]]
    assert "worker 1" in status["attempts"][0]["cause"]
    assert [["finished", 2, "0"]] * 2 == [
        [each[key] for key in ("state", "attempts", "exit")] for each in status["workers"]
    ]


def test_the_interpreter_lies_in_the_container(deployment: Deployment, trained: Trained) -> None:
    """And so does the program: nothing of the machine that packed them."""
    local = f"{deployment.cluster.folder}/node-"
    assert str(trained.killed.interpreter).startswith(local)
    program = [each for each in trained.killed.words if each.endswith("audioloom-trainer")]
    assert [] == [each for each in program if not each.startswith(local)]


def test_the_workers_reach_each_other_by_the_nodes_addresses(
    deployment: Deployment, trained: Trained
) -> None:
    """One on each node, and no other address."""
    hosts = {each["host"] for each in deployment.status(trained.folder)["workers"]}
    assert set(deployment.cluster.nodes) == hosts


def test_what_was_trained_is_better_than_nothing(sharding: StageRun, trained: Trained) -> None:
    """On prompts that training has never heard; every epoch has every record."""
    manifest = read_manifest(trained.manifest)
    scores = manifest["stats"]["scores"]["test"]
    assert scores["accuracy"] > scores["majority"]
    train = read_manifest(sharding.manifest)["stats"]["splits"]["train"]["records"]
    assert EPOCHS * -(-train // BATCH) == manifest["stats"]["steps"]


def test_what_is_trained_is_not_trained_again(
    deployment: Deployment, sharding: StageRun, environment: str, trained: Trained
) -> None:
    """The same command again answers at once, and no application is started."""
    before = deployment.cluster.applications(states="")
    again = start(deployment, sharding.manifest, environment)
    assert trained.manifest == again.answer()
    assert "already committed" in again.said
    assert before == deployment.cluster.applications(states="")
