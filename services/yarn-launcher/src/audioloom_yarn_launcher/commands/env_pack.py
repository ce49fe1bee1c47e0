"""`env pack`: an environment of wheels, as one archive that carries its Python, under the root.

The archive is named by what it is made from, so that nothing is built when it is there.
"""

import os
import tempfile
from pathlib import Path

import structlog
from audioloom_environment.build import build_environment, build_inputs
from audioloom_environment.upload import own_place, put_archive
from audioloom_stage.result import Result
from audioloom_storage import Location, is_shared, locate, share, stat

from audioloom_yarn_launcher.settings import PackSettings, command_line
from audioloom_yarn_launcher.yarn.configuration import CONF, find_hadoop
from audioloom_yarn_launcher.yarn.localization import FOLDER

log = structlog.get_logger()


def pack_environment(settings: PackSettings) -> Result:
    """Pack the environment unless the root has it already; return its location."""
    root = locate(settings.root)
    if root.scheme == "hdfs" and not os.environ.get(CONF):
        find_hadoop()  # a missing Hadoop is reported before the build
    with tempfile.TemporaryDirectory() as folder:
        inputs = build_inputs(
            Path(folder),
            python=settings.python_version,
            requirements=settings.requirements,
            wheels=settings.wheels,
            project=settings.project,
            extras=settings.extra,
            packages=settings.with_,
        )
        ships, name = root / FOLDER, f"{inputs.digest}.tar.gz"
        archive, there = own_place(ships, name)
        if there:
            log.info("the environment is there already", archive=str(archive))
        else:
            archive, _ = put_archive(build_environment(inputs, Path(folder)), ships, name)
    if settings.public:
        _share(archive, settings)
    run = command_line("run", "--on", "yarn", "--root", root, "--environment", archive)
    return Result(
        str(archive),
        {
            "location": str(archive),
            "digest": inputs.digest,
            "built": not there,
            "public": is_shared(archive),
            "bytes": stat(archive).size,
        },
        next=(f"{run} -- COMMAND",),
    )


def _share(archive: Location, settings: PackSettings) -> None:
    share(archive)
    yours = [*settings.with_, *([settings.project] if settings.project else [])]
    log.warning(
        "everybody on the cluster can read this environment, and run what is in it; nodes keep one"
        " copy of it, unpacked, for all users",
        archive=str(archive),
        also_yours=", ".join(yours) or "nothing: only what the requirements name",
        back=f"hdfs dfs -chmod 600 {archive}",
    )
