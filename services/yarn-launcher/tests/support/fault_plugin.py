"""The suite's cluster, how often it runs, and what it prints at its end: a plugin of pytest's."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fault_harness
import launcher_on_yarn as helpers
import pytest
from audioloom_mini_cluster.client import Running, running
from fault_trainer import TrainerHarness

COUNT, FIGURES = pytest.StashKey[int](), pytest.StashKey[list[tuple[str, float, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--count", type=int, default=1, help="how often each case is to be played")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = []


@pytest.fixture(scope="session")
def hadoop() -> Iterator[Running]:
    with running("--small-queue=20") as found:
        yield found


@pytest.fixture(scope="session")
def on_yarn(hadoop: Running, tmp_path_factory: pytest.TempPathFactory) -> fault_harness.YarnHarness:
    folder = tmp_path_factory.mktemp("yarn")
    return fault_harness.YarnHarness(folder, yarn=helpers.OnCluster(hadoop, folder))


@pytest.fixture(scope="session")
def on_trainer(hadoop: Running, tmp_path_factory: pytest.TempPathFactory) -> TrainerHarness:
    folder = tmp_path_factory.mktemp("trainer")
    found = TrainerHarness(
        folder,
        yarn=helpers.OnCluster(hadoop, folder),
        python=os.environ["FAULTS_TRAINER"],
        shard_maker=Path(os.environ["FAULTS_SHARD_MAKER"]),
    )
    found.prepare()
    return found


@pytest.fixture(scope="session")
def on_local(tmp_path_factory: pytest.TempPathFactory) -> fault_harness.Harness:
    return fault_harness.Harness(tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> list[tuple[str, float, Any]]:
    return pytestconfig.stash[FIGURES]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    rows = config.stash[FIGURES]
    write = terminalreporter.write_line
    terminalreporter.section("seconds from the fault")
    write(f"{'case':<32}{'noticed':>10}{'started':>10}{'goes on':>10}{'whole case':>12}")
    for name, seconds, times in rows:
        cells = [f"{each:.1f}" if each is not None else "-" for each in times]
        write(f"{name:<32}{''.join(f'{each:>10}' for each in cells)}{seconds:>12.1f}")
    write(f"{len(rows)} cases held, {sum(row[1] for row in rows):.0f} s")
