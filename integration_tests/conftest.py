"""One cluster, real recordings on it, what is made of them, and the logs of what failed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom_mini_cluster.client import GIVEN, Running, running
from audioloom_mini_cluster.faults import listening, processes_of, until
from audioloom_quickstart.programs import StepFailedError, programs_from_environment
from audioloom_quickstart.realdata import REFUSED, SkippedError, fetch
from deployment import SPLIT, Deployment
from stage_run import StageRun, killed_then_twice, undisturbed

LANGUAGES = ("en", "fr", "ru")
PROMPTS = 40
AT_MOST_S = 60  # what the kernel takes, on a busy machine, to clear up after ended processes

_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Note for the fixtures whether a test failed."""
    report = yield
    item.stash[_failed] = item.stash.get(_failed, False) or report.failed
    return report


@pytest.fixture(scope="session")
def cluster() -> Iterator[Running]:
    """HDFS and YARN; no process outlives a cluster that these tests have started."""
    python = programs_from_environment().paths["mini_cluster"]
    with running(python=python) as cluster, cluster.exported():
        addresses = [cluster.hdfs, *cluster.pages.values()]
        yield cluster
    if GIVEN in os.environ:
        return  # others go on with it
    until(lambda: not processes_of(cluster.folder), "no process is left", AT_MOST_S)
    ports = [each.rpartition("/")[2] for each in addresses]
    until(lambda: not listening(ports), "their ports are free", AT_MOST_S)


@pytest.fixture(scope="session")
def deployment(cluster: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The installed stages, and the cluster that they run on."""
    paths = programs_from_environment().paths
    folder = tmp_path_factory.mktemp("deployment")
    deployment = Deployment(cluster, paths, folder, f"{cluster.base}/loom")
    yield deployment
    deployment.close()


@pytest.fixture(autouse=True)
def nothing_is_left(deployment: Deployment, request: pytest.FixtureRequest) -> Iterator[None]:
    """No application and no process in a container outlives a test; a failed one shows its logs."""
    before = set(deployment.cluster.applications(states=""))
    yield
    if request.node.stash.get(_failed, False):
        deployment.close()
        for application in sorted(set(deployment.cluster.applications(states="")) - before):
            print(f"{application}\n{deployment.logs(application)}", file=sys.stderr)  # noqa: T201
    else:
        deployment.until_quiet()


@pytest.fixture(scope="session")
def voices(deployment: Deployment) -> Path:
    """Real recordings: the same prompts in three languages, and one that has no samples."""
    everything, some = deployment.folder / "everything", deployment.folder / "voices"
    try:
        fetch(programs_from_environment(), everything)
    except SkippedError as reason:
        pytest.skip(str(reason))
    except StepFailedError as error:
        pytest.fail(str(error))
    names = set.intersection(*({p.name for p in (everything / x).iterdir()} for x in LANGUAGES))
    chosen = sorted(names - {Path(each).name for each in REFUSED})[:PROMPTS]
    for language in LANGUAGES:
        (some / language).mkdir(parents=True)
        for name in chosen:
            shutil.copy(everything / language / name, some / language)
    for name in REFUSED:
        shutil.copy(everything / name, some / name)
    return some


@pytest.fixture(scope="session")
def recordings(deployment: Deployment, voices: Path) -> str:
    """The manifest of the recordings."""
    return deployment.scan(voices, "voices")


@pytest.fixture(scope="session")
def featurizing(deployment: Deployment, recordings: str) -> StageRun:
    """Features."""
    return undisturbed(deployment, "featurizer", "run", recordings, "--master", "yarn")


@pytest.fixture(scope="session")
def disturbed_featurizing(deployment: Deployment, recordings: str) -> StageRun:
    """Other features."""
    command = ("featurizer", "run", recordings, "--level", "recording", "--master", "yarn")
    return killed_then_twice(deployment, "features", *command)


@pytest.fixture(scope="session")
def sharding(deployment: Deployment, featurizing: StageRun) -> StageRun:
    """Shards, made by Spark on this machine from what lies in HDFS."""
    command = ("sharder", "run", featurizing.manifest, "--split", SPLIT, "--master", "local[2]")
    return undisturbed(deployment, *command)


@pytest.fixture(scope="session")
def disturbed_sharding(deployment: Deployment, featurizing: StageRun) -> StageRun:
    """Other shards, made in containers."""
    command = ("sharder", "run", featurizing.manifest, "--split", "train=1", "--master", "yarn")
    return killed_then_twice(deployment, "shards", *command)


@pytest.fixture(scope="session")
def environment(deployment: Deployment) -> str:
    """The trainer's environment: built from its lock in a folder that is gone, and shipped."""
    project = Path(__file__).parent.parent / "services" / "trainer"
    return deployment.answer(
        "yarn-launcher",
        *("env", "pack", "--root", deployment.root, "--project", str(project), "--extra", "cpu"),
    )
