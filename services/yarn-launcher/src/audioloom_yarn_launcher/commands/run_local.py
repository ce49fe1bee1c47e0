"""`run --on local`: acquire the run, run its gang on this machine, and report the result."""

from contextlib import closing
from functools import partial

import structlog
from audioloom_stage.errors import Usage
from audioloom_stage.logs import bind
from audioloom_stage.result import Result

from audioloom_yarn_launcher.coordinator.supervisor import gang_at_work, run_attempts
from audioloom_yarn_launcher.local.kv_server import StoreServer
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.local.workers import LocalWorkers
from audioloom_yarn_launcher.monitoring.failure_report import result_of
from audioloom_yarn_launcher.monitoring.live import HINT_HERE, shown_beside
from audioloom_yarn_launcher.runs.lease import acquire
from audioloom_yarn_launcher.runs.request import read_run_spec
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.system.addresses import NoAddress, own_address, own_addresses
from audioloom_yarn_launcher.worker.environment import hidden

ADDRESS = "127.0.0.1"

log = structlog.get_logger()


def launch(settings: RunSettings) -> Result:
    """Run a command with a gang of workers on this machine."""
    if settings.detach:
        raise Usage(
            "--detach is for clusters: here the workers end with the launcher",
            expected="--on yarn",
            found="--on local",
        )
    advertise = _address(settings.advertise or ADDRESS)
    spec = read_run_spec(settings)
    bind(run=spec.name)
    started = acquire(spec)
    if started is None:
        log.info("already committed", manifest=str(spec.manifest))
        return result_of(spec.location)
    store = MemoryStore()
    server = StoreServer(store)
    place = partial(
        LocalWorkers,
        server=server,
        marker=spec.launch,
        advertise=advertise,
        variables=hidden(spec.command),
    )
    with (
        closing(server),
        gang_at_work(store, spec.plan, spec.limits, place) as gang,
        shown_beside(spec.location, HINT_HERE),
    ):
        cause, last = run_attempts(gang, spec, started)
    return result_of(spec.location, cause, attempts=last.attempt - started.attempt + 1)


def _address(advertise: str) -> str:
    try:
        return own_address(advertise)
    except NoAddress as error:
        raise Usage(
            "this machine has no address in the network of --advertise",
            expected=f"one in {advertise}",
            found=", ".join(own_addresses()) or "none at all",
        ) from error
