"""`run --on local`: acquire the run, run its gang on this machine, and report the result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import structlog
from audioloom_stage import Result, Usage, bind

from audioloom_yarn_launcher.coordinator.context import Gang
from audioloom_yarn_launcher.coordinator.report import result_of
from audioloom_yarn_launcher.coordinator.supervisor import gang_at_work, run_attempts
from audioloom_yarn_launcher.local.kv_server import StoreServer
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.local.workers import AgentCommand, LocalWorkers, worker_command
from audioloom_yarn_launcher.monitoring.tables import report_arrivals
from audioloom_yarn_launcher.rendezvous.limits import Limits
from audioloom_yarn_launcher.rendezvous.messages import Plan
from audioloom_yarn_launcher.rendezvous.roles import Group, size_of
from audioloom_yarn_launcher.runs.lease import acquire
from audioloom_yarn_launcher.runs.request import read_run_spec
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.system.addresses import (
    NoAddress,
    address_in,
    is_network,
    own_addresses,
)
from audioloom_yarn_launcher.system.redaction import hidden

ADDRESS = "127.0.0.1"

log = structlog.get_logger()


def launch(settings: RunSettings, agents: AgentCommand | None = None) -> Result:
    """Run a command with a gang of workers on this machine; *agents* starts them in a test."""
    if settings.detach:
        raise Usage(
            "--detach is for clusters: here the workers end with the launcher",
            expected="--on yarn",
            found="--on local",
        )
    agents = agents or worker_command(_address(settings.advertise or ADDRESS))
    spec = read_run_spec(settings)
    bind(run=spec.name)
    started = acquire(spec)
    if started is None:
        log.info("already committed", manifest=str(spec.manifest))
        return result_of(spec.location, None, attempts=0, last=0)
    with local_gang(spec.plan, spec.limits, agents, hidden(spec.command)) as gang:
        cause, last = run_attempts(gang, spec, started)
    if cause is not None:
        report_arrivals(spec.location, last.attempt)
    attempts = last.attempt - started.attempt + 1
    return result_of(spec.location, cause, attempts=attempts, last=last.attempt)


def _address(advertise: str) -> str:
    try:
        return address_in(advertise) if is_network(advertise) else advertise
    except NoAddress as error:
        raise Usage(
            "this machine has no address in the network of --advertise",
            expected=f"one in {advertise}",
            found=", ".join(own_addresses()) or "none at all",
        ) from error


@contextmanager
def local_gang(
    plan: Plan, limits: Limits, agents: AgentCommand, variables: Mapping[str, str]
) -> Iterator[Gang]:
    """Open a gang of processes of this machine; all of them have ended when the block has."""
    store = MemoryStore()
    server = StoreServer(store)

    def place(groups: Sequence[Group], changed: Callable[[], None]) -> LocalWorkers:
        return LocalWorkers(
            size_of(groups),
            server=server,
            marker=plan.marker,
            command=agents,
            variables=variables,
            changed=changed,
            role=groups[0].role if groups[0].sidecar else None,
        )

    try:
        with gang_at_work(store, plan, limits, place) as gang:
            yield gang
    finally:
        server.close()
