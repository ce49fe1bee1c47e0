"""`doctor`: look at all that a run on a cluster needs, before one is submitted."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial

import structlog
from audioloom_hadoop.configuration import Hadoop
from audioloom_runs.checks import NO_ROOT, check_room, check_root
from audioloom_stage import checks
from audioloom_stage.result import Result
from audioloom_storage import Location, locate

from audioloom_yarn_launcher.errors import NoCluster
from audioloom_yarn_launcher.preflight import cluster as cluster_checks
from audioloom_yarn_launcher.preflight import local
from audioloom_yarn_launcher.preflight.node import ask_node
from audioloom_yarn_launcher.rendezvous.roles import WORKER
from audioloom_yarn_launcher.runs.request import application_shape, worker_resources
from audioloom_yarn_launcher.settings import DoctorSettings
from audioloom_yarn_launcher.yarn.application_spec import Shape, check_fits
from audioloom_yarn_launcher.yarn.configuration import find_hadoop, find_yarn
from audioloom_yarn_launcher.yarn.credentials import Login, read_login
from audioloom_yarn_launcher.yarn.localization import check_archive, ship_launcher
from audioloom_yarn_launcher.yarn.skein_client import Cluster, connect

DRIVER_WITHIN_S = 90.0
SHIP_WITHIN_S = 600.0
PROBE_WITHIN_S = 180.0
_NEEDED = ("configuration", "Java here", "yarn here")
"""The checks whose failure keeps skein's driver from starting."""

log = structlog.get_logger()


def examine(settings: DoctorSettings) -> Result:
    """Run all checks, and report each in one line."""
    login = read_login(settings.keytab, settings.principal)
    found = _before(settings, login)
    found += _with_driver(settings, login, found)
    return checks.report(found)


def _before(settings: DoctorSettings, login: Login | None) -> list[checks.CheckResult]:
    root, shape = settings.root, _shape(settings)
    here: dict[str, checks.Ask] = {
        "configuration": lambda: local.configuration(find_hadoop()),
        "Java here": local.java,
        "yarn here": lambda: checks.ok("yarn here", find_yarn()),
        "temp dir": lambda: local.check_temp_dirs({tempfile.gettempdir(), local.JAVA_FOLDER}),
        "room here": partial(check_room, "room here", tempfile.gettempdir()),
        "skein's key": local.key,
    }
    there: dict[str, Callable[[Hadoop], checks.CheckResult | Iterable[checks.CheckResult]]] = {
        "class path": local.class_path,
        "proxies": lambda hadoop: local.check_proxies(os.environ, hadoop.pages),
        "identity": lambda hadoop: local.identity(hadoop, login),
        "ResourceManager": cluster_checks.resource_manager,
        "NameNode": cluster_checks.default_system,
        "replication": cluster_checks.replication,
        "root": lambda _: check_root(root),
        "encryption zone": lambda hadoop: (
            cluster_checks.encryption(hadoop, locate(root))
            if root
            else checks.skipped("encryption zone", NO_ROOT)
        ),
        "queue": lambda _: cluster_checks.queue(shape, settings.workers),
        "nodes": lambda _: cluster_checks.nodes(shape),
        "log aggregation": cluster_checks.log_aggregation,
        "tokens": lambda hadoop: cluster_checks.tokens(hadoop, settings.planned_duration),
    }
    try:
        hadoop = find_hadoop()
    except NoCluster:
        for name in there:
            here[name] = partial(
                checks.skipped, name, "no cluster is configured: see configuration"
            )
    else:
        here |= {name: partial(check, hadoop) for name, check in there.items()}
    return checks.look(here)


def _with_driver(
    settings: DoctorSettings, login: Login | None, before: Sequence[checks.CheckResult]
) -> Iterator[checks.CheckResult]:
    later = ("request", "environment", *(["probe"] if settings.probe else []))
    if missing := [
        each.check for each in before if each.check in _NEEDED and checks.has_failed([each])
    ]:
        for name in ("skein's driver", *later):
            yield checks.skipped(name, f"it needs {', '.join(missing)}")
        return
    shape = _shape(settings)
    with ExitStack() as stack:
        clusters: list[Cluster] = []

        def start() -> checks.CheckResult:
            clusters.append(stack.enter_context(connect(find_hadoop(), login)))
            return checks.ok("skein's driver", "started, and answers by TLS")

        yield from checks.look_at("skein's driver", start, DRIVER_WITHIN_S)
        if not clusters:
            for name in later:
                yield checks.skipped(name, "skein's driver does not run: see skein's driver")
            return
        (cluster,) = clusters
        yield from checks.look_at("request", lambda: _request(cluster, shape))
        environment = checks.look_at("environment", partial(_environment, settings.environment))
        yield from environment
        if settings.root is None:
            yield checks.skipped("probe", f"{NO_ROOT}, and the launcher for nodes lies below it")
        elif settings.probe and not checks.has_failed(environment):
            yield from _probe(cluster, shape, locate(settings.root))


def _request(cluster: Cluster, shape: Shape) -> checks.CheckResult:
    cluster.check_queue(shape.queue)
    check_fits(shape, cluster.nodes(shape.node_label))
    label = f" with the label {shape.node_label}" if shape.node_label else ""
    return checks.ok(
        "request", f"a node{label} has room for a worker of {shape.roles[WORKER]} when it is empty"
    )


def _environment(archive: str | None) -> checks.CheckResult:
    if archive is None:
        return checks.ok("environment", "none given: the command has what the node has")
    return checks.ok("environment", f"{check_archive(archive)} is there")


def _probe(cluster: Cluster, shape: Shape, root: Location) -> Iterator[checks.CheckResult]:
    launchers: list[str] = []

    def ship() -> checks.CheckResult:
        launchers.append(ship_launcher(root))
        return checks.ok("launcher", f"lies at {launchers[0]}")

    yield from checks.look_at("launcher", ship, SHIP_WITHIN_S)
    if launchers:
        log.info("a container looks at a node")
        ask = partial(
            ask_node,
            cluster,
            shape,
            launcher=launchers[0],
            kerberos=local.has_kerberos(find_hadoop()),
            within_s=PROBE_WITHIN_S,
        )
        yield from checks.look_at("probe", ask, PROBE_WITHIN_S + checks.AT_ONCE_S)


def _shape(settings: DoctorSettings) -> Shape:
    return application_shape(
        settings,
        run_folder=locate(settings.root or ".").uri,
        roles={WORKER: worker_resources(settings)},
        environment=None if settings.environment is None else locate(settings.environment).uri,
    )
