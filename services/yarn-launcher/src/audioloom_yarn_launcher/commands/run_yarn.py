"""`run --on yarn`: ship what is needed, submit, and wait for the end or leave."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import structlog
from audioloom_stage import Result, bind
from audioloom_storage import StorageError, exists, is_shared, locate, stat

from audioloom_yarn_launcher.commands.result import ended, left
from audioloom_yarn_launcher.coordinator.job_spec import Job
from audioloom_yarn_launcher.coordinator.report import PROGRAM, result_of
from audioloom_yarn_launcher.coordinator.timeouts import Limits, pause_s
from audioloom_yarn_launcher.errors import Busy, NoCommand
from audioloom_yarn_launcher.monitoring.application_watch import SignalState, Watch, taking_signals
from audioloom_yarn_launcher.runs.attempts import executed_s, read_attempts
from audioloom_yarn_launcher.runs.clock import now
from audioloom_yarn_launcher.runs.lease import Launch, new_launch, relaunched, wait_for_turn
from audioloom_yarn_launcher.runs.localization import Localization
from audioloom_yarn_launcher.runs.pending import find_pending, tell_pending
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.runs.request import read_request, read_variables
from audioloom_yarn_launcher.runs.role_specs import team_of
from audioloom_yarn_launcher.runs.submissions import Submission, record_submission
from audioloom_yarn_launcher.runs.termination import ApplicationEnd, close_record, was_lost
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.system.redaction import hidden
from audioloom_yarn_launcher.yarn.am_heartbeat import write_heartbeat
from audioloom_yarn_launcher.yarn.application_spec import (
    Resources,
    Shape,
    check_fits,
    describe,
    parse_memory,
)
from audioloom_yarn_launcher.yarn.configuration import check_programs, check_reachable, find_hadoop
from audioloom_yarn_launcher.yarn.default_file_system import check_default_system
from audioloom_yarn_launcher.yarn.docker import docker_variables
from audioloom_yarn_launcher.yarn.environments import check_archive, ship_launcher
from audioloom_yarn_launcher.yarn.file_systems import systems_of
from audioloom_yarn_launcher.yarn.folders import pack_folder
from audioloom_yarn_launcher.yarn.layout import ENVIRONMENT, HEARTBEAT, JOB, LAUNCHER, NODE_PYTHON
from audioloom_yarn_launcher.yarn.login import read_login
from audioloom_yarn_launcher.yarn.skein_client import Cluster, connect

ADDRESS = "{node}"
ALLOCATION_S = 600.0
REGISTRATION_S = 600.0
LOOK_AGAIN_S = 1.0

log = structlog.get_logger()


def launch_on_yarn(settings: RunSettings) -> Result:
    """Run a command by a gang of workers in containers of a cluster."""
    login = read_login(settings.keytab, settings.principal)
    request = read_request(settings)
    bind(run=request.name)
    hadoop = find_hadoop()
    check_programs()
    check_reachable(hadoop)
    check_default_system(hadoop)
    life = new_launch(request, on=settings.on)
    _shape(settings, life)  # what cannot be shipped is told before the wait
    number = _wait_for_turn(life, settings)
    if number is None:
        log.info("already committed", manifest=str(request.manifest))
        return result_of(request, None, attempts=0, last=0)
    shape = _shape(settings, life)  # and may be another since: the wait may last for hours
    with connect(hadoop, login) as cluster:
        cluster.check_queue(shape.queue)
        check_fits(shape, cluster.nodes(shape.node_label))
        launcher = ship_launcher(locate(settings.root))
        life = replace(life, localization=_provision(settings, shape, launcher))
        with taking_signals() as heard:
            application, ending = _run_once(cluster, settings, life, shape, launcher, heard, number)
            for again in range(settings.max_resubmissions):
                if ending is None or request.committed or not was_lost(ending):
                    break
                _tell_lost(life, ending)
                settings = _with_time_left(settings, executed_s(request.folder, ending.attempts))
                time.sleep(pause_s(again))
                life = relaunched(life)
                shape, number = replace(shape, launch=life.id), _next_number(life)
                application, ending = _run_once(
                    cluster, settings, life, shape, launcher, heard, number
                )
    return left(request, application) if ending is None else ended(request, ending)


def _run_once(
    cluster: Cluster,
    settings: RunSettings,
    life: Launch,
    shape: Shape,
    launcher: str,
    heard: SignalState,
    number: int,
) -> tuple[str, ApplicationEnd | None]:
    """Submit an application and wait: for its end, or with --detach for its beginning."""
    application = _submit(cluster, shape, launcher, _job(life, settings))
    log.info("submitted", application=application)
    _put_on_record(life, application, after=number - 1)
    folder, start_s = life.request.folder, settings.timeout_start
    watch = Watch(cluster, folder, life.id, application, heard, start_s=start_s)
    return application, watch.until_begun() if settings.detach else watch.to_the_end()


def _tell_lost(life: Launch, ending: ApplicationEnd) -> None:
    """Put on record what its coordinator could not, so that another may go on."""
    cause = close_record(life.request.folder, ending) if ending.attempts else None
    log.warning(
        "the application was lost: another one is submitted",
        application=ending.application,
        because=cause.text if cause else ending.report.diagnostics,
    )


def _with_time_left(settings: RunSettings, executed: float) -> RunSettings:
    """What the next application is asked for, after one whose gang worked for so many seconds."""
    left = Limits(REGISTRATION_S, execution_s=settings.timeout_execution).after(executed)
    return settings.model_copy(update={"timeout_execution": left.execution_s})


def _next_number(life: Launch) -> int:
    attempts = read_attempts(life.request.folder)
    return attempts[-1].started.attempt + 1 if attempts else 1


def _wait_for_turn(life: Launch, settings: RunSettings) -> int | None:
    """As `wait_for_turn`, and behind an application of another launcher that has not begun."""
    folder, told = life.request.folder, False
    while True:
        number = wait_for_turn(life, wait=settings.wait, take_over=settings.take_over)
        if number is None:
            return None
        pending = find_pending(folder, read_attempts(folder))
        if pending is None or not pending.waits:
            return number
        if not settings.wait:
            raise Busy(
                "another launcher's application for this run waits to begin",
                where=folder,
                found=f"{pending.submission.application}: {pending.because}",
                hint=f"{PROGRAM} status {folder}",
            )
        if not told:
            tell_pending(pending)
            told = True
        time.sleep(LOOK_AGAIN_S)


def _put_on_record(life: Launch, application: str, *, after: int) -> None:
    request = life.request
    submission = Submission(
        launch=life.id,
        application=application,
        submitted=now(),
        after_attempt=after,
        size=life.size,
        command=request.shown,
        by=this_process(),
        localization=life.localization,
    )
    try:
        record_submission(request.folder, submission)
    except StorageError as error:  # the run goes on without
        log.warning("the submission cannot be put on record", found=str(error))


def _provision(settings: RunSettings, shape: Shape, launcher: str) -> Localization:
    return Localization(
        launcher=launcher,
        environment=shape.environment,
        python=settings.python,
        image=settings.docker_image,
    )


def _shape(settings: RunSettings, life: Launch) -> Shape:
    environment = None if settings.environment is None else check_archive(settings.environment)
    files, folders = _files(settings.files)
    worker = Resources(parse_memory(settings.memory), settings.vcores, settings.gpus)
    return Shape(
        run_folder=life.request.folder.uri,
        launch=life.id,
        queue=settings.queue,
        node_label=settings.node_label,
        coordinator=Resources(parse_memory(settings.coordinator_memory), 1),
        worker=worker,
        roles=_roles(settings, worker),
        environment=environment,
        files=files,
        variables=_variables(settings) | hidden(settings.command),
        coordinator_variables=read_variables(settings.coordinator_env, os.environ),
        advertise=settings.advertise or ADDRESS,
        systems=systems_of(
            settings.file_system,
            (settings.root, environment or "", *settings.files, *settings.env, *settings.command),
        ),
        view_users=settings.view_users,
        ui_users=settings.ui_users,
        public=environment is not None and is_shared(locate(environment)),
        folders=folders,
    )


def _roles(settings: RunSettings, worker: Resources) -> dict[str, Resources]:
    """What the containers of each role get: what the job file does not say, the flags do."""
    team = team_of(settings)
    found = {group.role: worker for group in team.groups}
    for name, table in team.tables.items():
        found[name] = Resources(
            worker.memory_mb if table.memory is None else parse_memory(table.memory),
            worker.vcores if table.vcores is None else table.vcores,
            worker.gpus if table.gpus is None else table.gpus,
        )
    return found


def _variables(settings: RunSettings) -> dict[str, str]:
    given = read_variables(settings.env, os.environ)
    docker = docker_variables(settings.docker_image, settings.docker_mount, settings.docker_network)
    if twice := sorted(given.keys() & docker.keys()):
        raise NoCommand(
            "a variable of --env is set by a flag too",
            expected="--docker-image, --docker-mount and --docker-network, or --env",
            found=twice[0],
        )
    python = {} if settings.python is None else {NODE_PYTHON: settings.python}
    return {**given, **docker, **python}


def _files(paths: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """The files by name, and the folders."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        location = locate(path)
        if not exists(location):
            raise NoCommand("a file of --files is not there", where=location, expected="a file")
        if location.name in {*files, *folders, LAUNCHER, ENVIRONMENT}:
            raise NoCommand(
                "two files of --files have one name",
                expected=f"names that differ, and not {LAUNCHER} or {ENVIRONMENT}: they lie in one"
                " folder",
                found=location.name,
            )
        if not stat(location).is_folder:
            files[location.name] = location.uri
        elif location.scheme == "file":
            folders[location.name] = location.path
        else:
            raise NoCommand(
                "a folder of --files lies on the cluster",
                where=location,
                expected="a file, or a folder of this machine",
            )
    return files, folders


def _job(life: Launch, settings: RunSettings) -> Job:
    return Job.of(
        life,
        limits=Limits(
            registration_s=settings.timeout_registration or REGISTRATION_S,
            allocation_s=settings.timeout_allocation or ALLOCATION_S,
            execution_s=settings.timeout_execution,
        ),
        frozen_s=settings.timeout_frozen,
        max_restarts=settings.max_restarts,
        wait=settings.wait,
        take_over=settings.take_over,
    )


def _submit(cluster: Cluster, shape: Shape, launcher: str, job: Job) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, JOB).write_text(job.model_dump_json())
        write_heartbeat(Path(folder, HEARTBEAT))
        packed: dict[str, str] = {}
        for number, (name, source) in enumerate(shape.folders.items()):
            archive = Path(folder, f"{number}.tar.gz")
            pack_folder(Path(source), archive)
            packed[name] = archive.as_uri()
        whole = replace(shape, folders=packed)
        return cluster.submit(describe(whole, launcher=launcher, folder=folder))
