"""`run --on yarn`: ship the environment, submit the application, and wait for its end or leave."""

import os
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import structlog
from audioloom_stage.errors import Usage
from audioloom_stage.logs import bind
from audioloom_stage.result import Result
from audioloom_storage import StorageError, exists, is_shared, locate, stat

from audioloom_yarn_launcher.commands.attach import report_application
from audioloom_yarn_launcher.monitoring.application_watch import ApplicationWatch
from audioloom_yarn_launcher.monitoring.failure_report import result_of
from audioloom_yarn_launcher.monitoring.live import HINT, shown_beside
from audioloom_yarn_launcher.runs.application import wait_to_submit
from audioloom_yarn_launcher.runs.request import application_shape, read_run_spec, read_variables
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.runs.submissions import Localization, record_submission
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.system.interrupts import SignalState, taking_signals
from audioloom_yarn_launcher.worker.environment import hidden
from audioloom_yarn_launcher.yarn import application_spec, configuration, localization
from audioloom_yarn_launcher.yarn.credentials import read_login
from audioloom_yarn_launcher.yarn.skein_client import Cluster, connect

ADDRESS = "{node}"

log = structlog.get_logger()


def launch_on_yarn(settings: RunSettings) -> Result:
    """Run a command with a gang of workers in containers of a cluster."""
    login = read_login(settings.keytab, settings.principal)
    spec = read_run_spec(settings)
    bind(run=spec.name)
    hadoop = configuration.find_hadoop()
    configuration.check_programs()
    configuration.check_reachable(hadoop)
    configuration.check_default_system(hadoop)
    _shape(settings, spec)  # what cannot be shipped is reported before the wait
    number = wait_to_submit(spec)
    if number is None:
        log.info("already committed", manifest=str(spec.manifest))
        return result_of(spec.location)
    shape = _shape(settings, spec)  # again: the wait may last for hours, and files may change
    with connect(hadoop, login) as cluster:
        cluster.check_queue(shape.queue)
        application_spec.check_fits(shape, cluster.nodes(shape.node_label))
        launcher = localization.ship_launcher(locate(settings.root))
        shipped = Localization(
            launcher=launcher,
            environment=shape.environment,
            python=settings.python,
            image=settings.docker_image,
        )
        spec = spec.model_copy(update={"localization": shipped})
        signals = SignalState()
        with taking_signals(signals, may_leave=True):
            application = _submit(cluster, shape, spec, launcher)
            log.info("submitted", application=application)
            try:
                record_submission(spec.location, spec.submission(application, after=number - 1))
            except StorageError as error:  # the run goes on without
                log.warning("submission cannot be recorded", found=str(error))
            watch = ApplicationWatch(
                *(cluster, spec.location, spec.launch, application, signals),
                start_s=settings.timeout_start,
            )
            live = nullcontext() if settings.detach else shown_beside(spec.location, HINT)
            with live:
                ending = watch.wait(until_begun=settings.detach)
    return report_application(spec.location, application, ending)


def _submit(cluster: Cluster, shape: application_spec.Shape, spec: RunSpec, launcher: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, application_spec.JOB).write_text(spec.model_dump_json())
        application_spec.write_heartbeat(Path(folder, application_spec.HEARTBEAT))
        packed: dict[str, str] = {}
        for number, (name, source) in enumerate(shape.folders.items()):
            archive = Path(folder, f"{number}.tar.gz")
            localization.pack_folder(Path(source), archive)
            packed[name] = archive.as_uri()
        shape = replace(shape, folders=packed)
        return cluster.submit(application_spec.describe(shape, launcher=launcher, folder=folder))


def _shape(settings: RunSettings, spec: RunSpec) -> application_spec.Shape:
    environment = (
        None if settings.environment is None else localization.check_archive(settings.environment)
    )
    files, folders = _files(settings.files)
    words = (*spec.command, *(word for group in spec.roles for word in group.command))
    return application_shape(
        settings,
        run_folder=spec.folder,
        roles=spec.resources,
        launch=spec.launch,
        environment=environment,
        public=environment is not None and is_shared(locate(environment)),
        files=files,
        folders=folders,
        variables=_variables(settings) | hidden(spec.command),
        advertise=settings.advertise or ADDRESS,
        systems=localization.systems_of(
            settings.file_system,
            (settings.root, environment or "", *settings.files, *settings.env, *words),
        ),
        view_users=settings.view_users,
        ui_users=settings.ui_users,
    )


def _variables(settings: RunSettings) -> dict[str, str]:
    given = read_variables(settings.env, os.environ)
    docker = application_spec.docker_variables(
        settings.docker_image, settings.docker_mount, settings.docker_network
    )
    if twice := sorted(given.keys() & docker.keys()):
        raise Usage(
            "a variable of --env is set by a flag too",
            expected="--docker-image, --docker-mount and --docker-network, or --env",
            found=twice[0],
        )
    python = {} if settings.python is None else {application_spec.NODE_PYTHON: settings.python}
    return {**given, **docker, **python}


def _files(paths: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    ours = (application_spec.LAUNCHER, application_spec.ENVIRONMENT)
    for path in paths:
        location = locate(path)
        if not exists(location):
            raise Usage("a file of --files is not there", where=location, expected="a file")
        if location.name in {*files, *folders, *ours}:
            raise Usage(
                "two files of --files have one name",
                expected=f"names that differ, and not {' or '.join(ours)}: they lie in one folder",
                found=location.name,
            )
        if not stat(location).is_folder:
            files[location.name] = location.uri
        elif location.scheme == "file":
            folders[location.name] = location.path
        else:
            raise Usage(
                "a folder of --files lies on the cluster",
                where=location,
                expected="a file, or a folder of this machine",
            )
    return files, folders
