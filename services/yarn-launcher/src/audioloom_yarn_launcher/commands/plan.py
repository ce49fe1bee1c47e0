"""`plan`: show the run that `run` would start, and what it would take; start nothing.

How long the command works, only the command can say. A trainer is asked by its own `plan`, in a
process, with the run folder and the cores that it would get. Containers take time before that.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import structlog
from audioloom_manifest.envelope import Cost
from audioloom_runs.cost import cost_facts, newest_manifests
from audioloom_runs.prediction import Earlier, Expected, predict
from audioloom_runs.tables import facts
from audioloom_stage.logs import bind
from audioloom_stage.progress_bar import working
from audioloom_stage.result import JSON, Result
from audioloom_storage import Location, StorageError, locate
from pydantic import TypeAdapter

from audioloom_yarn_launcher.errors import BadRecord, NoCluster
from audioloom_yarn_launcher.preflight.cluster import queue_share
from audioloom_yarn_launcher.rendezvous.limits import Resources, in_all, mebibytes
from audioloom_yarn_launcher.rendezvous.roles import CHIEF, WORKER, size_of
from audioloom_yarn_launcher.runs.attempts import AttemptStarted
from audioloom_yarn_launcher.runs.command_identity import shown
from audioloom_yarn_launcher.runs.record import read_record
from audioloom_yarn_launcher.runs.request import read_run_spec
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.yarn.configuration import find_hadoop
from audioloom_yarn_launcher.yarn.resource_manager import ask

TRAINER = "audioloom-trainer"
START = {"local": Expected(1.5, doubt=1.0), "yarn": Expected(20.0, doubt=1.0)}
"""Seconds from the request until the gang is complete. In a busy queue it is hours."""
ASK_WITHIN_S = 60.0
_COSTS = TypeAdapter(dict[str, Cost])

log = structlog.get_logger()


def plan(settings: RunSettings) -> Result:
    """Show the run, its containers, their share of the queue, and its cost."""
    spec = read_run_spec(settings)
    bind(run=spec.name)
    whole = share = None
    if spec.on == "yarn":
        master = Resources(mebibytes(settings.coordinator_memory), 1)
        workers = [(group.count, spec.resources[group.role]) for group in spec.roles]
        whole = in_all([*workers, (1, master)])
        share = _share(settings.queue, whole)
    begun = read_record(spec.location / "attempts/1.started.json", AttemptStarted) is not None
    cost = _cost(spec, locate(settings.root), whole)
    data: dict[str, JSON] = {
        "name": spec.name,
        "location": spec.folder,
        "state": "committed" if spec.committed else "started" if begun else "new",
        "command": shown(spec.shown),
        "workers": size_of(spec.roles),
        "on": spec.on,
    }
    known = {key: str(value) for key, value in data.items()}
    if whole is not None:
        told = (
            "{:.0%} of its maximum, of which {:.0%} is in use".format(*share)
            if share
            else "unknown"
        )
        known["containers"] = f"{whole} in all, the application master's included"
        known["queue share"] = f"{settings.queue}: {told}"
    if "seconds" not in cost:
        known["time"] = f"not known: only that of {TRAINER} run, where it is installed here, is"
    return Result(
        facts({**known, **cost_facts(cost)}),
        {
            **data,
            "queue": settings.queue if spec.on == "yarn" else None,
            "queue_share": share and share[0],
            "queue_used": share and share[1],
            "cost": {name: each.to_json() for name, each in cost.items()},
        },
    )


def _share(queue: str, whole: Resources) -> tuple[float, float] | None:
    try:
        find_hadoop()
    except NoCluster as error:
        log.warning("the queue cannot be asked", found=str(error))
        return None
    return queue_share(ask("cluster/scheduler"), queue, whole)


def _cost(spec: RunSpec, root: Location, whole: Resources | None) -> dict[str, Cost]:
    """Add up the time until the gang is complete, and what the command says of itself."""
    cost = _of_command(spec)
    if "seconds" in cost:
        start = predict(START[spec.on], [*_starts(spec, root)])
        cost["seconds"] = _total(start, cost["seconds"])
    if whole is not None:
        held = float(whole.memory_mb << 20)
        cost["memory_bytes"] = Cost(
            start=held, work=0.0, runs=0, least=held, likely=held, most=held
        )
        if "seconds" in cost:
            cost["core_seconds"] = _total(cost["seconds"], times=whole.vcores)
    return cost


def _of_command(spec: RunSpec) -> dict[str, Cost]:
    """Ask a trainer; {} for any other command, and for a trainer that is not installed here."""
    program, *words = spec.command or ("",)
    if Path(program).name != TRAINER or words[:1] != ["run"] or shutil.which(program) is None:
        return {}
    groups = [group for group in spec.roles if group.role in (CHIEF, WORKER)]
    workers = size_of(groups)
    held = spec.resources[groups[0].role]
    threads = held.vcores if spec.on == "yarn" else max(1, (os.cpu_count() or 1) // workers)
    replicas = workers * max(1, held.gpus)
    given = [f"--threads={threads}", f"--replicas={replicas}", "--json", "--quiet"]
    with working(f"asking {TRAINER} plan"):
        try:
            done = subprocess.run(
                [program, "plan", *given, *words[1:]],
                env={**os.environ, "AUDIOLOOM_RUN_FOLDER": spec.folder},
                stdout=subprocess.PIPE,
                check=True,
                timeout=ASK_WITHIN_S,
            )
            return _COSTS.validate_python(json.loads(done.stdout)["cost"])
        except (subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
            log.warning("the command does not tell its cost", found=f"{type(error).__name__}")
            return {}


def _starts(spec: RunSpec, root: Location) -> Iterator[Earlier]:
    """The seconds until the gang was complete, of earlier runs in the same place."""
    for folder, manifest in newest_manifests(root, "training-run"):
        seconds = manifest.execution.seconds
        waited = seconds.get("containers", 0.0) + seconds.get("localising", 0.0)
        try:
            started = read_record(folder / "attempts/1.started.json", AttemptStarted)
        except (BadRecord, StorageError):  # perhaps another user's; it would only be an estimate
            continue
        if waited and started is not None and started.on == spec.on:
            yield Earlier(START[spec.on].start, 0.0, waited)


def _total(*costs: Cost, times: int = 1) -> Cost:
    """Add up ranges by their ends; the basis is that of the last one."""
    parts = ("start", "work", "least", "likely", "most")
    sums = {part: times * sum(getattr(cost, part) for cost in costs) for part in parts}
    return costs[-1].model_copy(update=sums)
