"""`doctor`: look at all that a run on a cluster needs, before one is submitted.

Every check is asked in its own thread and has its own deadline, and what one of them finds keeps
none of the others from being asked.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial

import structlog
from audioloom_hadoop.configuration import Hadoop
from audioloom_stage.errors import StageError
from audioloom_stage.result import JSON, Result
from audioloom_storage import StorageError, locate

from audioloom_yarn_launcher.errors import NoCluster
from audioloom_yarn_launcher.preflight import cluster as cluster_checks
from audioloom_yarn_launcher.preflight import local
from audioloom_yarn_launcher.preflight.check_result import (
    CheckResult,
    cannot_tell,
    failure,
    has_failed,
    lines,
    ok,
)
from audioloom_yarn_launcher.preflight.node import check_node, describe_probe, send_probe
from audioloom_yarn_launcher.rendezvous.causes import CONFIGURATION
from audioloom_yarn_launcher.rendezvous.roles import WORKER
from audioloom_yarn_launcher.runs.request import application_shape, worker_resources
from audioloom_yarn_launcher.settings import DoctorSettings
from audioloom_yarn_launcher.system.polling import within
from audioloom_yarn_launcher.yarn.application_spec import Shape, check_fits
from audioloom_yarn_launcher.yarn.configuration import find_hadoop
from audioloom_yarn_launcher.yarn.credentials import Login, read_login
from audioloom_yarn_launcher.yarn.localization import check_archive, ship_launcher
from audioloom_yarn_launcher.yarn.skein_client import Cluster, connect

AT_ONCE_S = 30.0
DRIVER_WITHIN_S = 90.0
SHIP_WITHIN_S = 600.0
PROBE_WITHIN_S = 180.0

log = structlog.get_logger()


Ask = Callable[[], CheckResult | Iterable[CheckResult]]
"""A check, which answers or raises what `run` would."""


def examine(settings: DoctorSettings) -> Result:
    """Run all checks, and report each in one line."""
    login = read_login(settings.keytab, settings.principal)
    found = [*_before(settings, login), *_with_driver(settings, login)]
    data: dict[str, JSON] = {"findings": [asdict(each) for each in found]}
    return Result(lines(found), data, exit_code=CONFIGURATION if has_failed(found) else 0)


def look(checks: Mapping[str, Ask], within_s: float = AT_ONCE_S) -> list[CheckResult]:
    """Make all checks at once; return their results in order."""
    with ThreadPoolExecutor(len(checks), "doctor") as pool:
        found = pool.map(lambda name: _look(name, checks[name], within_s), checks)
        return [each for results in found for each in results]


def _look(name: str, check: Ask, within_s: float = AT_ONCE_S) -> list[CheckResult]:
    def ask() -> list[CheckResult]:
        found = check()
        return [found] if isinstance(found, CheckResult) else list(found)

    try:
        return within(within_s, ask)
    except TimeoutError as error:
        return [failure(name, str(error), "Ask who runs it, or try again later.")]
    except StageError as error:
        told = StageError(error.summary, expected=error.expected, found=error.found)
        told.where = error.where
        return [failure(name, str(told), error.hint)]
    except StorageError as error:
        found = ": ".join(filter(None, (error.where, error.found)))
        return [failure(name, found, error.hint)]
    except Exception as error:  # noqa: BLE001 - a check of ours that fails says nothing of the rest
        return [cannot_tell(name, f"{type(error).__name__}: {error}")]


def _before(settings: DoctorSettings, login: Login | None) -> list[CheckResult]:
    root, shape = locate(settings.root), _shape(settings)
    here: dict[str, Ask] = {
        "configuration": lambda: local.configuration(find_hadoop()),
        "Java here": local.java,
        "temp dir": lambda: local.check_temp_dirs({tempfile.gettempdir(), local.JAVA_FOLDER}),
        "room here": lambda: local.check_room(tempfile.gettempdir()),
        "skein's key": local.key,
    }
    there: dict[str, Callable[[Hadoop], CheckResult | Iterable[CheckResult]]] = {
        "class path": local.class_path,
        "proxies": lambda hadoop: local.check_proxies(os.environ, hadoop.pages),
        "identity": lambda hadoop: local.identity(hadoop, login),
        "ResourceManager": cluster_checks.resource_manager,
        "NameNode": cluster_checks.default_system,
        "replication": cluster_checks.replication,
        "root": lambda _: cluster_checks.root_storage(root),
        "encryption zone": lambda hadoop: cluster_checks.encryption(hadoop, root),
        "queue": lambda hadoop: cluster_checks.queue(hadoop, shape, settings.workers),
        "nodes": lambda hadoop: cluster_checks.nodes(hadoop, shape),
        "log aggregation": cluster_checks.log_aggregation,
        "tokens": lambda hadoop: cluster_checks.tokens(hadoop, _hours(settings.planned_duration)),
    }
    try:
        hadoop = find_hadoop()
    except NoCluster:
        for name in there:
            here[name] = partial(
                cannot_tell, name, "no cluster is configured", "See configuration."
            )
    else:
        here |= {name: partial(check, hadoop) for name, check in there.items()}
    return look(here)


def _with_driver(settings: DoctorSettings, login: Login | None) -> Iterator[CheckResult]:
    shape = _shape(settings)
    with ExitStack() as stack:
        clusters: list[Cluster] = []

        def start() -> CheckResult:
            clusters.append(stack.enter_context(connect(find_hadoop(), login)))
            return ok("skein's driver", "started, and answers by TLS")

        yield from _look("skein's driver", start, DRIVER_WITHIN_S)
        if not clusters:
            for name in ("request", "environment", *(("probe",) if settings.probe else ())):
                yield cannot_tell(name, "it takes skein's driver", "See skein's driver.")
            return
        (cluster,) = clusters
        yield from _look("request", lambda: _request(cluster, shape))
        environment = _look("environment", lambda: _environment(settings))
        yield from environment
        if settings.probe and not has_failed(environment):
            yield from _probe(cluster, shape, settings)


def _request(cluster: Cluster, shape: Shape) -> CheckResult:
    cluster.check_queue(shape.queue)
    check_fits(shape, cluster.nodes(shape.node_label))
    label = f" with the label {shape.node_label}" if shape.node_label else ""
    return ok(
        "request", f"a node{label} has room for a worker of {shape.roles[WORKER]} when it is empty"
    )


def _environment(settings: DoctorSettings) -> CheckResult:
    if settings.environment is None:
        return ok("environment", "none given: the command has what the node has")
    return ok("environment", f"{check_archive(settings.environment)} is there")


def _probe(cluster: Cluster, shape: Shape, settings: DoctorSettings) -> Iterator[CheckResult]:
    root = locate(settings.root)
    launchers: list[str] = []

    def ship() -> CheckResult:
        launchers.append(ship_launcher(root))
        return ok("launcher", f"lies at {launchers[0]}")

    yield from _look("launcher", ship, SHIP_WITHIN_S)
    if launchers:
        log.info("a container looks at a node")
        ask = partial(_ask_node, cluster, shape, launchers[0])
        yield from _look("probe", ask, PROBE_WITHIN_S + AT_ONCE_S)


def _ask_node(cluster: Cluster, shape: Shape, launcher: str) -> Iterable[CheckResult]:
    began = time.time()
    description = describe_probe(shape, launcher=launcher, read=launcher)
    answer = send_probe(cluster, description, within_s=PROBE_WITHIN_S)
    return check_node(
        answer,
        began=began,
        ended=time.time(),
        gpus=shape.roles[WORKER].gpus,
        kerberos=local.has_kerberos(find_hadoop()),
    )


def _shape(settings: DoctorSettings) -> Shape:
    return application_shape(
        settings,
        run_folder=locate(settings.root).uri,
        roles={WORKER: worker_resources(settings)},
        environment=None if settings.environment is None else locate(settings.environment).uri,
    )


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600
