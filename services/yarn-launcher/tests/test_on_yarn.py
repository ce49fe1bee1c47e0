"""Gangs on a real cluster: HDFS, YARN, skein, containers on two nodes."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import launcher_on_yarn as helpers
import pytest
from audioloom_environment.archive import pack
from audioloom_environment.contents import describe
from audioloom_environment.upload import ship
from audioloom_mini_cluster.client import GIVEN
from audioloom_storage import exists, list_folder, locate, publish, read_bytes
from audioloom_yarn_launcher.monitoring.log_reader import NodeLogs
from audioloom_yarn_launcher.yarn.configuration import find_hadoop
from audioloom_yarn_launcher.yarn.skein_client import connect

# By default one gang is on YARN: that of the trainer, in the integration tests.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(yarn: Any) -> str:
    """An environment of the command's own, that lies nowhere on this machine any more."""
    made = yarn.folder / "made"
    venv.create(made, symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", yarn.cluster.conf)
        archive = ship(made, locate(f"{yarn.root}/environments")).uri
    made.rename(yarn.folder / "moved")
    return archive


@pytest.fixture
def of_conda(tmp_path: Path) -> Path:
    """An archive that conda-pack made; of a prefix like conda's, which no conda has made.

    Its Python, which works at any place as conda's does, is one that we have packed; what conda
    notes of its packages is written by hand.
    """
    prefix = tmp_path / "made"
    venv.create(tmp_path / "venv", symlinks=True)
    with (tmp_path / "ours.tar.gz").open("wb") as file:
        pack(describe(tmp_path / "venv"), file)
    with tarfile.open(tmp_path / "ours.tar.gz") as tar:
        tar.extractall(prefix, filter="data")
    for ours in ("pyvenv.cfg", "environment.json"):
        (prefix / ours).unlink()
    files = [str(each.relative_to(prefix)) for each in prefix.rglob("*") if not each.is_dir()]
    version = ".".join(map(str, sys.version_info[:3]))
    python = {"name": "python", "version": version, "url": "", "link": None, "files": files}
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta/history").write_text("")
    (prefix / f"conda-meta/python-{version}-0.json").write_text(json.dumps(python))
    archive = tmp_path / "conda.tar.gz"
    command = [
        sys.executable,
        "-c",
        "from conda_pack.cli import main; main()",
        "--quiet",
        "-p",
        prefix,
        "-o",
        archive,
    ]
    subprocess.run(command, check=True)
    prefix.rename(tmp_path / "moved")
    return archive


A_VALUE = """{"a": {"b": "$HOME `id` \\ {{PWD}}<CPS>'"}}"""
"""A variable that YARN's script of a container would change in every way it has."""

SEEN_BY_ALL = "--ui-users=dr.who"
"""As whom Hadoop takes everybody where its pages ask nobody who they are."""


@pytest.fixture(scope="module")
def at_once(yarn: Any, environment: str) -> dict[str, Any]:
    """Two runs at the same time, since each takes most of a minute."""
    again = yarn.run(
        *("again", "1.1:exit=3"),
        options=(
            *(helpers.ONE_A_NODE, f"--environment={environment}"),
            f"--env=OF_THE_TEST={A_VALUE}",
        ),
    )
    page = (f"--job={with_a_page(yarn)}", SEEN_BY_ALL)
    detached = yarn.run("detached", "*.*:stay", options=("--detach", *page))
    return {"again": again, "detached": yarn.finish(detached)}


def test_a_gang_meets_on_two_nodes_and_is_started_anew(yarn: Any, at_once: dict[str, Any]) -> None:
    """By the nodes' own addresses, in containers, with the environment that was shipped."""
    code, out, err = yarn.finish(at_once["again"])
    assert (0, yarn.where("again")) == (code, out), err
    assert "the process of worker 1 ended with exit code 3" in err
    notes = [yarn.note("again", rank, attempt=2) for rank in range(2)]
    addresses = notes[0]["config"]["cluster"]["worker"]
    assert [note["node"] for note in notes] == [each.rpartition(":")[0] for each in addresses]
    assert set(yarn.cluster.nodes) == {note["node"] for note in notes}
    for rank, note in enumerate(notes):
        task = {"type": "worker", "index": rank}
        assert {"cluster": {"worker": addresses}, "task": task} == note["config"]
        assert (1, A_VALUE) == (note["generation"], note["variable"])
        local = f"{yarn.cluster.folder}/node-"
        inside = [note["python"], note["prefix"], note["folder"], *note["path"]]
        assert [] == [each for each in inside if not each.startswith(local)]
    before = yarn.note("again", 1, attempt=1)["config"]["cluster"]["worker"]
    assert set() == set(before) & set(addresses)


def test_a_server_of_a_container_listens_at_its_nodes_address_alone(
    yarn: Any, at_once: dict[str, Any]
) -> None:
    """The library is in the environment that was shipped; and nobody on record is exposed."""
    code, out, err = yarn.finish(at_once["again"])
    assert 0 == code, err
    for rank in range(2):
        note = yarn.note("again", rank, attempt=2)
        assert [note["node"], f"::ffff:{note['node']}"] == note["listens"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", yarn.cluster.conf)
        membership = json.loads(read_bytes(locate(out) / "attempts/2.members.json", limit=1 << 20))
    assert ["", ""] == [each["exposed"] for each in membership["workers"]]
    assert "open at every address" not in err


def test_the_end_is_a_table(yarn: Any, at_once: dict[str, Any]) -> None:
    """A line a worker: state, host, attempts, exit and where its log is."""
    status = yarn.status("again")
    assert "finished" == status["state"]
    workers = [[each[key] for key in ("state", "attempts", "exit")] for each in status["workers"]]
    assert [["finished", 2, "0"]] * 2 == workers
    assert set(yarn.cluster.nodes) == {each["host"] for each in status["workers"]}
    logs = [f"{yarn.where('again')}/logs/{rank}/2.*.log" for rank in range(2)]
    assert logs == [each["log"] for each in status["workers"]]


def with_a_page(yarn: Any) -> Path:
    """A job with a server in the place of TensorBoard, that shows the files which it is given."""
    job = yarn.folder / "board.toml"
    server = ["python3", "-m", "http.server", "{port}", "--bind={host}", "--directory={events}"]
    job.write_text(f"[roles.worker]\n[roles.tensorboard]\ncommand = {json.dumps(server)}\n")
    return Path(job)


def read_page(page: str) -> str:
    """What a browser gets."""
    with urllib.request.urlopen(page) as reply:  # noqa: S310 - of the cluster
        text: str = reply.read().decode()
    return text


def test_a_page_is_seen_through_the_resource_manager(
    yarn: Any, at_once: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a server in a container, which reads what lies in the run folder on HDFS, as it comes."""
    monkeypatch.setenv("HADOOP_CONF_DIR", yarn.cluster.conf)
    code, out, err = at_once["detached"]
    assert (0, yarn.where("detached")) == (code, out), err
    page = helpers.until(lambda: page_of(yarn, "detached"), "the page")
    assert page.startswith(f"{yarn.cluster.pages['yarn']}/proxy/application_")
    events = locate(yarn.where("detached")) / "logs/tensorboard/train"
    board = page.partition("?")[0]
    for number in (1, 2):
        publish(events / f"events.out.tfevents.{number}", b"scalars")
        there = f"events.out.tfevents.{number}"
        helpers.until(lambda there=there: there in read_listing(board), "the events")
    assert "scalars" == read_page(f"{board}train/events.out.tfevents.2")


def read_listing(board: str) -> str:
    """The files that are there; none before there is a folder."""
    try:
        return read_page(f"{board}train/")
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return ""


def page_of(yarn: Any, name: str) -> str:
    """The page of a run's TensorBoard, as soon as `status` shows it.

    Of a ResourceManager on a loopback address Hadoop says that it is on `localhost`, and it is not.
    """
    pages = [each["page"] for each in yarn.status(name).get("workers", []) if each["page"]]
    return re.sub("^http://[^/]+", yarn.cluster.pages["yarn"], pages[0]) if pages else ""


def test_a_detached_run_goes_on_and_can_be_killed(yarn: Any, at_once: dict[str, Any]) -> None:
    """Nobody waits for it; `kill` ends it as Ctrl-C would, with all that it started."""
    code, out, err = at_once["detached"]
    assert (0, yarn.where("detached")) == (code, out), err
    yarn.until_running("detached")
    pids = helpers.until(lambda: containers_pids(yarn, 2), "two processes stay")
    code, out, err = yarn.call("kill", yarn.where("detached"))
    assert (0, yarn.where("detached")) == (code, out), err
    assert not [pid for pid in pids if Path("/proc", str(pid)).exists()]
    status = yarn.status("detached")
    assert "interrupted" == status["state"]
    assert "the launcher got SIGTERM" == status["attempts"][-1]["cause"]
    assert ["stopped"] * 3 == [each["state"] for each in status["workers"]]
    assert 0 == yarn.call("kill", yarn.where("detached"))[0]


def test_who_gets_no_container_is_shown_with_the_reason(yarn: Any) -> None:
    """What the nodes lack, by the ResourceManager; and the others' containers are given back."""
    few = ("--workers=3", "--gpus=2", "--timeout-allocation=35")  # there are two nodes with two
    code, out, err = yarn.finish(yarn.run("starved", "*.*:stay", options=few))
    assert (75, "") == (code, out), err
    assert "not all of 3 workers got a container within 35 s" in err
    status = yarn.status("starved")
    assert "failed" == status["state"]
    rows = status["arrivals"]
    assert 3 == len(rows)
    (starved,) = [each for each in rows if each["state"] == "not-allocated"]
    expected = "1 more of 256 MiB, 1 vcores, 2 GPUs: none of 2 nodes has 2 GPUs free"
    assert f"no container yet: {expected} (the most is 0)" == starved["reason"]
    assert f"{starved['worker']}  -     not-allocated  -  " in err
    assert set(yarn.cluster.nodes) == {each["host"] for each in rows if each is not starved}


def containers_pids(yarn: Any, count: int) -> list[int]:
    """The processes of the tests' program that stay, once there are as many."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes()
        except OSError:
            continue
        launcher = b"audioloom_yarn_launcher" in words  # names the program, too
        if b"on_node.py" in words and not launcher and yarn.cluster.folder.encode() in variables:
            found.append(int(entry.name))
    return found if len(found) == count else []


@pytest.fixture
def with_tensorboard(tmp_path: Path) -> Path:
    """A Python that has TensorBoard."""
    python = tmp_path / "venv/bin/python"
    pip = ("pip", "install", "--quiet", f"--python={python}", "tensorboard")
    for words in (("venv", "--quiet", "--python=3.11", tmp_path / "venv"), pip):
        subprocess.run(["uv", *words], check=True)  # noqa: S607 - as the environments are made
    return python


def test_the_curves_of_a_run_are_seen_through_the_resource_manager(
    yarn: Any, tmp_path: Path, with_tensorboard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the real TensorBoard: its page, and scalars that come while it runs."""
    monkeypatch.setenv("HADOOP_CONF_DIR", yarn.cluster.conf)
    events = locate(yarn.where("curves")) / "logs/tensorboard/train"

    def write(step: int) -> None:
        program = Path(__file__).parent / "programs/write_events.py"
        made = tmp_path / f"events-{step}"
        subprocess.run([with_tensorboard, program, made, str(step), "0.5"], check=True)
        (file,) = made.iterdir()
        publish(events / file.name, file.read_bytes())

    job = tmp_path / "board.toml"
    job.write_text("[roles.worker]\n[roles.tensorboard]\nmemory = '1 GiB'\n")
    options = ("--detach", f"--job={job}", f"--python={with_tensorboard}", SEEN_BY_ALL)
    code, _, err = yarn.finish(yarn.run("curves", "*.*:stay", options=options))
    assert 0 == code, err
    page = helpers.until(lambda: page_of(yarn, "curves"), "the page")
    assert "<title>TensorBoard</title>" in read_page(page)
    board = page.partition("?")[0]
    scalars = f"{board}data/plugin/scalars/scalars?tag=loss&run=train"
    for step in (1, 2):
        write(step)
        helpers.until(lambda step=step: step in steps_of(scalars), f"step {step}")
    assert [1, 2] == steps_of(scalars)
    assert 0 == yarn.call("kill", yarn.where("curves"))[0]


def steps_of(scalars: str) -> list[int]:
    """The steps of a curve; none before TensorBoard knows of it."""
    try:
        return [step for _, step, _ in json.loads(read_page(scalars))]
    except urllib.error.HTTPError as error:
        if error.code not in (400, 404):
            raise
        return []


def test_a_container_over_its_memory_is_reported_as_that(yarn: Any) -> None:
    """And replaced; without a restart it is the cause."""
    options = ("--max-restarts=0",)
    code, _, err = yarn.finish(yarn.run("hungry", "1.1:eat=600", "0.1:stay", options=options))
    assert 75 == code
    assert "was killed for memory" in err
    assert "--memory" in err
    status = yarn.status("hungry")
    assert "lost" == status["workers"][1]["state"]
    assert 256 << 20 == status["workers"][1]["usage"]["memory_limit_bytes"]
    code, out, err = yarn.call("explain", yarn.where("hungry"))
    assert 0 == code, err
    killed = r"worker 1 on 127\.0\.0\.[0-9]+ was lost: its container was killed for memory"
    assert re.search(rf"^first cause +{killed} \([0-9.]+ MB of 256 MB", out, re.MULTILINE), out
    assert "worker 0 stopped because of it" in out


def test_a_node_without_an_address_in_the_network_says_so(yarn: Any) -> None:
    """Which YARN does not, and nothing was begun that could have a log in the run folder."""
    code, _, err = yarn.finish(
        yarn.run("elsewhere", "*.*:stay", options=("--advertise=240.0.0.0/4", "--max-restarts=0"))
    )
    assert 75 == code, err
    assert "failed after writing: " in err
    assert "has no address in 240.0.0.0/4, only " in err


def test_an_archive_that_cannot_be_unpacked_is_not_tried_again(yarn: Any, tmp_path: Path) -> None:
    """It would not be better the next time. Nobody looks into what has a name of ours."""
    damaged = tmp_path / f"{'0' * 64}.tar.gz"
    damaged.write_bytes(b"not what its name says")
    options = (f"--environment={damaged}", "--max-restarts=3")
    code, _, err = yarn.finish(yarn.run("damaged", "*.*:exit=0", options=options))
    assert 65 == code, err
    assert "cannot be unpacked" in err
    assert 1 == len(yarn.status("damaged")["attempts"])


def test_a_worker_that_hangs_in_its_container_is_shown_with_its_last_words(yarn: Any) -> None:
    """What it said to its node, which nobody else has read."""
    with socket.socket() as deaf:  # takes every call to the coordinator, and never answers
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        proxy = f"--env=grpc_proxy=http://127.0.0.1:{deaf.getsockname()[1]}"
        options = (
            *(helpers.ONE_A_NODE, proxy, "--env=LD_PRELOAD=/none"),
            "--timeout-registration=20",
        )
        code, _, err = yarn.finish(yarn.run("hangs", "*.*:stay", options=options))
    assert 75 == code
    assert "0 of 2 workers registered within 20 s" in err
    rows = yarn.status("hangs")["arrivals"]
    assert ["unregistered"] * 2 == [each["state"] for each in rows]
    assert set(yarn.cluster.nodes) == {each["host"] for each in rows}
    for each in rows:
        assert "'/none' from LD_PRELOAD cannot be preloaded" in each["tail"]
        assert "End of LogType" not in each["tail"]


@pytest.fixture
def full(yarn: Any) -> Iterator[None]:
    """A queue whose share for application masters is used up."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in yarn.variables.items():
            patch.setenv(name, value)
        with connect(find_hadoop()) as cluster:
            resources = {"memory": 5120, "vcores": 1}
            master = {"resources": resources, "script": "sleep 600"}
            application = cluster.submit({"name": "full", "queue": "default", "master": master})
            yield
            cluster.kill(application)
    helpers.until(lambda: application not in yarn.cluster.applications(), "it has ended")


@pytest.mark.filterwarnings(  # skein, in this process, leaves a file open and uses distutils
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:distutils Version classes"
)
def test_a_run_that_waits_for_the_queue_can_be_looked_at_and_ended(yarn: Any, full: None) -> None:
    """Before its coordinator has a container, by its id, and by what the scheduler says."""
    options = ("--coordinator-memory=3 GiB",)
    both = [yarn.run(name, "*.*:exit=0", options=options) for name in ("waits", "waits-too")]
    for name in ("waits", "waits-too"):
        helpers.until(lambda name=name: yarn.status(name), f"{name} is on record")
    status = yarn.status("waits")
    assert ("waiting", []) == (status["state"], status["attempts"])
    assert status["application"]["id"] in yarn.cluster.applications()
    assert "AM resource limit" in status["application"]["because"]
    code, out, err = yarn.call("logs", yarn.where("waits"))
    assert (0, "") == (code, out), err
    assert "AM resource limit" in err
    code, _, err = yarn.finish(yarn.run("waits", "*.*:exit=0", options=("--no-wait",)))
    assert 75 == code
    assert status["application"]["id"] in err
    assert 0 == yarn.call("kill", yarn.where("waits"))[0]
    code, _, err = yarn.finish(both[0])
    assert 75 == code
    assert "somebody ended the application" in err
    both[1].send_signal(signal.SIGINT)
    assert 130 == yarn.finish(both[1])[0]
    assert ["interrupted"] * 2 == [yarn.status(name)["state"] for name in ("waits", "waits-too")]


def test_an_archive_of_conda_pack_is_taken_as_it_is(yarn: Any, of_conda: Path) -> None:
    """The command finds its Python, and where its environment lies."""
    code = "import os, sys; print(sys.prefix, os.environ['CONDA_PREFIX'], os.getcwd())"
    words = ("run", "--on=yarn", "--memory=256 MiB", f"--root={yarn.root}", "--name=conda")
    done = yarn.call(*words, f"--environment={of_conda}", "--", "python", "-c", code)
    assert 0 == done[0], done[2]
    _, out, _ = yarn.call("logs", yarn.where("conda"))
    prefix, named, folder = out.split()
    assert f"{folder}/environment" == named
    assert prefix == named or prefix.startswith(f"{yarn.cluster.folder}/node-")


def test_ctrl_c_ends_the_application(yarn: Any) -> None:
    """Who waits is who is asked."""
    process = yarn.run("stopped", "*.*:stay")
    yarn.until_running("stopped")
    process.send_signal(signal.SIGINT)
    code, out, _ = yarn.finish(process)
    assert (130, "") == (code, out)
    assert "interrupted" == yarn.status("stopped")["state"]
    assert [] == yarn.cluster.applications()


def test_a_run_whose_application_master_is_lost_goes_on(yarn: Any) -> None:
    """Another one takes over, by what is on record; that is a restart."""
    process = yarn.run("headless", "*.1:stay")
    yarn.until_running("headless")
    kill_master(yarn)
    code, out, err = yarn.finish(process)
    assert (0, yarn.where("headless")) == (code, out), err
    attempts = yarn.status("headless")["attempts"]
    assert ["failed", "finished"] == [each["outcome"] for each in attempts]
    assert "is gone" in attempts[0]["cause"]


def test_without_restarts_a_lost_application_master_ends_the_run(yarn: Any) -> None:
    """The one that takes over closes the record; the same command goes on, as another launch."""
    process = yarn.run("beheaded", "*.1:stay", options=("--max-restarts=0",))
    yarn.until_running("beheaded")
    kill_master(yarn)
    code, _, err = yarn.finish(process)
    assert 75 == code, err
    assert "is gone" in err
    helpers.until(lambda: not helpers.processes(yarn.cluster), "all processes have ended")
    code, out, err = yarn.finish(yarn.run("beheaded", "*.1:stay"))
    assert (0, yarn.where("beheaded")) == (code, out), err


def test_a_container_that_is_lost_is_replaced(yarn: Any) -> None:
    """The survivor keeps its own."""
    process = yarn.run("replaced", "*.1:stay")
    yarn.until_running("replaced")
    workers = [each for each in helpers.processes(yarn.cluster) if "--guarded" in each]
    assert 2 == len(workers)
    helpers.kill(int(workers[0].split()[0]))
    code, _, err = yarn.finish(process)
    assert 0 == code, err
    first = yarn.status("replaced")["attempts"][0]
    assert "was lost: its container on 127.0.0.1" in first["cause"]


def test_a_worker_that_is_frozen_is_replaced(yarn: Any) -> None:
    """With its container, which YARN ends, and what it ran."""
    process = yarn.run("frozen", "*.1:stay", options=("--timeout-frozen=5",))
    yarn.until_running("frozen")
    (first, _) = [each for each in helpers.processes(yarn.cluster) if "--guarded" in each]
    os.kill(int(first.split()[0]), signal.SIGSTOP)
    code, _, err = yarn.finish(process)
    assert 0 == code, err
    assert "it was frozen" in yarn.status("frozen")["attempts"][0]["cause"]
    helpers.until(lambda: not helpers.processes(yarn.cluster), "all processes have ended")


def test_of_two_launches_at_once_one_waits(yarn: Any) -> None:
    """Whoever is second answers what the first one has done; there is one attempt at a time."""
    both = [yarn.run("twice", "*.*:exit=0") for _ in range(2)]
    assert [(0, yarn.where("twice"))] * 2 == [yarn.finish(each)[:2] for each in both]
    outcomes = [each["outcome"] for each in yarn.status("twice")["attempts"]]
    assert {"finished"} == set(outcomes)


def test_a_run_is_found_again_by_its_application(yarn: Any) -> None:
    """Its client has died: another waits in its place, looks at it, and ends it without a trace."""
    client = yarn.run("orphan", "*.*:stay")
    yarn.until_running("orphan")
    helpers.kill(client.pid)
    yarn.finish(client)
    (application,) = yarn.cluster.applications()
    code, out, err = yarn.call("status", application)
    assert 0 == code, err
    assert re.search("^state +running$", out, re.MULTILINE)
    shown = helpers.until(lambda: on_its_node(yarn, "orphan"), "its node shows its log")
    assert yarn.cluster.folder in json.loads(shown)["folder"]
    code, out, err = yarn.call("logs", "--rank=0", application)
    assert (0, shown.decode().strip()) == (code, out), err
    attached = yarn.start("attach", application)
    helpers.until(lambda: "waiting" in attached.stderr.readline(), "it is attached")
    code, out, err = yarn.call("kill", application)
    assert (0, yarn.where("orphan")) == (code, out), err
    assert 143 == yarn.finish(attached)[0]
    assert [] == yarn.cluster.applications()
    helpers.until(lambda: not helpers.processes(yarn.cluster), "all processes have ended")
    assert [] == staged(yarn, application)
    code, out, err = yarn.call("explain", application)
    assert "the launcher got SIGTERM" in out, err
    assert 143 == yarn.call("attach", application)[0]


def on_its_node(yarn: Any, name: str) -> bytes:
    """What the node of a run's first worker shows of its log, which lies in HDFS in pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", yarn.cluster.conf)
        pages = NodeLogs(locate(yarn.where(name)), 1)
        pages.search()
        return pages.read(0, 0)


def staged(yarn: Any, application: str) -> list[str]:
    """What skein has put into the cluster for an application."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", yarn.cluster.conf)
        users = [each.location for each in list_folder(locate(f"{yarn.cluster.hdfs}/user"))]
        staging = [each / f".skein/{application}" for each in users]
        return [str(each) for each in staging if exists(each)]


def test_an_application_that_is_killed_by_others_is_told(yarn: Any) -> None:
    """What the coordinator could not record, who waits does."""
    process = yarn.run("shot", "*.*:stay")
    yarn.until_running("shot")
    (application,) = yarn.cluster.applications()
    words = ["yarn", "application", "-kill", application]
    subprocess.run(words, env=yarn.variables, check=True, capture_output=True)
    code, _, err = yarn.finish(process)
    assert 75 == code
    assert "somebody ended the application" in err
    assert "failed" == yarn.status("shot")["state"]


@pytest.fixture
def tell(yarn: Any) -> Iterator[Any]:
    """Ends daemons; they are started again after the test."""
    if GIVEN in os.environ:
        pytest.skip("the cluster that is used was started by somebody else")
    killed = []

    def kill(daemon: str) -> None:
        yarn.cluster.tell(f"kill {daemon}")
        killed.append(daemon)

    yield kill
    for daemon in killed:
        yarn.cluster.tell(f"start {daemon}")


def manager_of(yarn: Any, host: str) -> str:
    """The name of a node's NodeManager."""
    return f"nodemanager-{yarn.cluster.nodes.index(host) + 1}"


def spread(yarn: Any, name: str) -> tuple[Any, str, str]:
    """Start a run whose workers are not all on the coordinator's node, until it is at work.

    The launcher's process, the host of the coordinator, and another host with a worker.
    """
    with yarn.cluster.with_memory(helpers.NO_ROOM_FOR_ALL_MB):
        process = yarn.run(name, "*.1:stay")
        yarn.until_running(name)
    _, page, _ = yarn.call("status", yarn.where(name))
    (master,) = re.findall(r"^launcher +application_\S+ on (\S+)$", page, re.MULTILINE)
    hosts = {each["host"] for each in yarn.status(name)["workers"]}
    return process, master, next(iter(hosts - {master}))


def test_a_node_that_is_lost_is_made_good_on_the_other(yarn: Any, tell: Any) -> None:
    """Its worker lives on, cut off, and whatever it says does not count."""
    process, master, cut_off = spread(yarn, "cut-off")
    tell(manager_of(yarn, cut_off))
    code, _, err = yarn.finish(process)
    assert 0 == code, err
    status = yarn.status("cut-off")
    assert ["failed", "finished"] == [each["outcome"] for each in status["attempts"]]
    assert f"its node {cut_off} was lost" in status["attempts"][0]["cause"]
    assert [master] * 2 == [each["host"] for each in status["workers"]]
    helpers.until(lambda: not helpers.processes(yarn.cluster), "all processes have ended")


def test_with_the_node_of_the_coordinator_the_run_moves_to_another(yarn: Any, tell: Any) -> None:
    """Application master, coordinator and workers; nothing stays on the node that was cut off."""
    process, master, other = spread(yarn, "moved")
    tell(manager_of(yarn, master))
    code, _, err = yarn.finish(process)
    assert 0 == code, err
    status = yarn.status("moved")
    assert ["failed", "finished"] == [each["outcome"] for each in status["attempts"]]
    assert [other] * 2 == [each["host"] for each in status["workers"]]
    helpers.until(lambda: not helpers.processes(yarn.cluster), "all processes have ended")


def test_a_datanode_may_be_lost_while_the_environment_is_staged(
    yarn: Any, tell: Any, tmp_path: Path
) -> None:
    """It is written to those that are left, and read from them."""
    anew = helpers.OnCluster(yarn.cluster, tmp_path)
    process = anew.run("staged", "*.*:exit=0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", yarn.cluster.conf)
        folder = locate(f"{anew.root}/environments")
        helpers.until(lambda: exists(folder) and list(list_folder(folder)), "it is written")
    tell("datanode-1")
    code, _, err = anew.finish(process)
    assert 0 == code, err


def kill_master(yarn: Any) -> None:
    """SIGKILL for the only application master."""
    (master,) = [each for each in helpers.processes(yarn.cluster) if is_master(each)]
    helpers.kill(int(master.split()[0]))


def is_master(process: str) -> bool:
    """Whether it is the JVM of an application master, and not the shell before it."""
    return "skein.ApplicationMaster" in process and process.split()[1].endswith("/java")
