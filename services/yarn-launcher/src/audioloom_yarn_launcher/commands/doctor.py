"""`doctor`: look at all that a run on a cluster needs, before one is submitted.

Every check is asked in its own thread and has its own deadline, and what one of them finds keeps
none of the others from being asked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial

import structlog
from audioloom_stage import JSON, Result, StageError
from audioloom_storage import StorageError, locate

from audioloom_yarn_launcher.errors import NoCluster
from audioloom_yarn_launcher.preflight import cluster as doctor_cluster
from audioloom_yarn_launcher.preflight import local, node_checks
from audioloom_yarn_launcher.preflight.findings import (
    Finding,
    cannot_tell,
    failure,
    has_failed,
    lines,
    ok,
)
from audioloom_yarn_launcher.preflight.node import describe_probe, send_probe
from audioloom_yarn_launcher.rendezvous.causes import CONFIGURATION
from audioloom_yarn_launcher.rendezvous.resources import Resources, mebibytes
from audioloom_yarn_launcher.runs.request import read_variables
from audioloom_yarn_launcher.settings import DoctorSettings
from audioloom_yarn_launcher.system.deadline import within
from audioloom_yarn_launcher.yarn.application_spec import Shape, check_fits
from audioloom_yarn_launcher.yarn.configuration import Hadoop, find_hadoop
from audioloom_yarn_launcher.yarn.environments import check_archive, ship_launcher
from audioloom_yarn_launcher.yarn.login import Login, read_login
from audioloom_yarn_launcher.yarn.skein_client import Cluster, connect

AT_ONCE_S = 30.0
DRIVER_WITHIN_S = 90.0
SHIP_WITHIN_S = 600.0
PROBE_WITHIN_S = 180.0

log = structlog.get_logger()


@dataclass(frozen=True)
class Check:
    """One thing to look at.

    Args:
        name: as its line has it, if it does not answer.
        ask: answers, or raises what `run` would.
        within_s: how long it may take.
    """

    name: str
    ask: Callable[[], Finding | Iterable[Finding]]
    within_s: float = AT_ONCE_S


def examine(settings: DoctorSettings) -> Result:
    """Look at all, and say of each in one line how it is."""
    login = read_login(settings.keytab, settings.principal)
    found = [*_before(settings, login), *_with_driver(settings, login)]
    data: dict[str, JSON] = {"findings": [asdict(each) for each in found]}
    return Result(lines(found), data, exit_code=CONFIGURATION if has_failed(found) else 0)


def look(checks: Iterable[Check]) -> list[Finding]:
    """What all checks find, in their order; all are asked at once."""
    checks = list(checks)
    with ThreadPoolExecutor(max(1, len(checks)), "doctor") as pool:
        return [each for found in pool.map(_look, checks) for each in found]


def _look(check: Check) -> list[Finding]:
    def ask() -> list[Finding]:
        found = check.ask()
        return [found] if isinstance(found, Finding) else list(found)

    try:
        return within(check.within_s, ask)
    except TimeoutError as error:
        return [failure(check.name, str(error), "Ask who runs it, or try again later.")]
    except StageError as error:
        told = StageError(error.summary, expected=error.expected, found=error.found)
        told.where = error.where
        return [failure(check.name, str(told), error.hint)]
    except StorageError as error:
        found = ": ".join(filter(None, (error.where, error.found)))
        return [failure(check.name, found, error.hint)]
    except Exception as error:  # noqa: BLE001 - a check of ours that fails says nothing of the rest
        return [cannot_tell(check.name, f"{type(error).__name__}: {error}")]


def _before(settings: DoctorSettings, login: Login | None) -> list[Finding]:
    """What is asked without skein."""
    root, shape = locate(settings.root), _shape(settings)
    here = [
        Check("configuration", lambda: local.configuration(find_hadoop())),
        Check("Java here", local.java),
        Check("temp dir", local.temp_dirs),
        Check("room here", local.room),
        Check("skein's key", local.key),
    ]
    there: dict[str, Callable[[Hadoop], Finding | Iterable[Finding]]] = {
        "class path": local.class_path,
        "proxies": local.proxies,
        "identity": lambda hadoop: local.identity(hadoop, login),
        "ResourceManager": doctor_cluster.resource_manager,
        "NameNode": doctor_cluster.default_system,
        "root": lambda _: doctor_cluster.root_storage(root),
        "encryption zone": lambda hadoop: doctor_cluster.encryption(hadoop, root),
        "queue": lambda hadoop: doctor_cluster.queue(hadoop, shape, settings.workers),
        "nodes": lambda hadoop: doctor_cluster.nodes(hadoop, shape),
        "log aggregation": doctor_cluster.log_aggregation,
        "tokens": lambda hadoop: doctor_cluster.tokens(hadoop, _hours(settings.planned_duration)),
    }
    return look([*here, *(Check(name, partial(_configured, name, there[name])) for name in there)])


def _configured(
    name: str, ask: Callable[[Hadoop], Finding | Iterable[Finding]]
) -> Finding | Iterable[Finding]:
    try:
        hadoop = find_hadoop()
    except NoCluster:
        return cannot_tell(name, "no cluster is configured", "See configuration.")
    return ask(hadoop)


def _with_driver(settings: DoctorSettings, login: Login | None) -> Iterator[Finding]:
    """What `run` asks by skein, one after the other; and the probe."""
    shape = _shape(settings)
    with ExitStack() as stack:
        clusters: list[Cluster] = []

        def start() -> Finding:
            clusters.append(stack.enter_context(connect(find_hadoop(), login)))
            return ok("skein's driver", "started, and answers by TLS")

        yield from _look(Check("skein's driver", start, DRIVER_WITHIN_S))
        if not clusters:
            for name in ("request", "environment", *(("probe",) if settings.probe else ())):
                yield cannot_tell(name, "it takes skein's driver", "See skein's driver.")
            return
        (cluster,) = clusters
        yield from _look(Check("request", lambda: _request(cluster, shape)))
        environment = _look(Check("environment", lambda: _environment(settings)))
        yield from environment
        if settings.probe and not has_failed(environment):
            yield from _probe(cluster, shape, settings)


def _request(cluster: Cluster, shape: Shape) -> Finding:
    cluster.check_queue(shape.queue)
    check_fits(shape, cluster.nodes(shape.node_label))
    label = f" with the label {shape.node_label}" if shape.node_label else ""
    return ok("request", f"a node{label} has room for a worker of {shape.worker} when it is empty")


def _environment(settings: DoctorSettings) -> Finding:
    if settings.environment is None:
        return ok("environment", "none given: the command has what the node has")
    return ok("environment", f"{check_archive(settings.environment)} is there")


def _probe(cluster: Cluster, shape: Shape, settings: DoctorSettings) -> Iterator[Finding]:
    root = locate(settings.root)
    launchers: list[str] = []

    def ship() -> Finding:
        launchers.append(ship_launcher(root))
        return ok("launcher", f"lies at {launchers[0]}")

    yield from _look(Check("launcher", ship, SHIP_WITHIN_S))
    if launchers:
        log.info("a container looks at a node")
        ask = partial(_ask_node, cluster, shape, launchers[0])
        yield from _look(Check("probe", ask, PROBE_WITHIN_S + AT_ONCE_S))


def _ask_node(cluster: Cluster, shape: Shape, launcher: str) -> Iterable[Finding]:
    began = time.time()
    description = describe_probe(shape, launcher=launcher, read=launcher)
    answer = send_probe(cluster, description, within_s=PROBE_WITHIN_S)
    return node_checks.findings(
        answer,
        began=began,
        ended=time.time(),
        gpus=shape.worker.gpus,
        kerberos=local.has_kerberos(find_hadoop()),
    )


def _shape(settings: DoctorSettings) -> Shape:
    return Shape(
        run_folder=locate(settings.root).uri,
        launch="",
        queue=settings.queue,
        node_label=settings.node_label,
        coordinator=Resources(mebibytes(settings.coordinator_memory), 1),
        worker=Resources(mebibytes(settings.memory), settings.vcores, settings.gpus),
        environment=None if settings.environment is None else locate(settings.environment).uri,
        files={},
        variables={},
        coordinator_variables=read_variables(settings.coordinator_env, os.environ),
        advertise="",
    )


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600
