"""`env pack`: an environment of wheels, as one archive that carries its Python, under the root.

The archive is named by what it is made from, so that nothing is built when it is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import structlog
from audioloom_environment import Environment, describe, find_archive, put_archive
from audioloom_stage import Result
from audioloom_storage import Location, is_shared, locate, share, stat

from audioloom_yarn_launcher.commands.build_inputs import Ingredients, gather
from audioloom_yarn_launcher.errors import CannotBuild
from audioloom_yarn_launcher.settings import EnvSettings
from audioloom_yarn_launcher.yarn.configuration import CONF, find_hadoop
from audioloom_yarn_launcher.yarn.environments import FOLDER

MOST_SAID = 1500

log = structlog.get_logger()


def pack_environment(settings: EnvSettings) -> Result:
    """Make sure that the environment lies under the root; its location."""
    root = locate(settings.root)
    if root.scheme == "hdfs" and not os.environ.get(CONF):
        find_hadoop()  # says so, before anything is built
    with tempfile.TemporaryDirectory() as folder:
        ingredients = gather(settings, Path(folder), run=_run)
        ships, name = root / FOLDER, f"{ingredients.digest}.tar.gz"
        archive = find_archive(ships, name)
        built = archive is None
        if archive is None:
            archive, _ = put_archive(_build(ingredients, Path(folder)), ships, name)
        else:
            log.info("the environment is there already", archive=str(archive))
    if settings.public:
        _share(archive, settings)
    command = f"audioloom-yarn-launcher run --on yarn --environment {archive}"
    return Result(
        str(archive),
        {
            "environment": archive.uri,
            "digest": ingredients.digest,
            "built": built,
            "public": is_shared(archive),
            "bytes": stat(archive).size,
        },
        next=(command,),
    )


def _share(archive: Location, settings: EnvSettings) -> None:
    share(archive)
    yours = [*settings.with_, *([settings.project] if settings.project else [])]
    log.warning(
        "everybody on the cluster can read this environment, and run what is in it; nodes keep one"
        " copy of it, unpacked, for all users",
        archive=str(archive),
        also_yours=", ".join(yours) or "nothing: only what the requirements name",
        back=f"hdfs dfs -chmod 600 {archive}",
    )


def _build(ingredients: Ingredients, folder: Path) -> Environment:
    prefix = folder / "environment"
    log.info("building the environment", python=ingredients.python)
    _run("uv", "venv", "--quiet", "--relocatable", f"--python={ingredients.python}", str(prefix))
    install = ("uv", "pip", "install", "--quiet", f"--python={prefix}")
    if ingredients.requirements is not None:
        offline: tuple[str, ...] = ()
        if ingredients.wheels is not None:
            offline = ("--no-index", f"--find-links={ingredients.wheels}")
        _run(*install, *offline, f"--requirements={ingredients.requirements}")
    if ingredients.local:
        _run(*install, "--no-deps", *ingredients.local)
    if ingredients.packages:
        _run(*install, *ingredients.packages)
    return describe(prefix)


def _run(*command: str) -> str:
    """Run a tool to its end; what it printed.

    Raises:
        CannotBuild: it is not there, or failed.
    """
    if shutil.which(command[0]) is None:
        raise CannotBuild(
            f"the program `{command[0]}` is missing, which builds environments",
            expected=f"{command[0]} on the PATH",
            found="none",
            hint="pip install uv",
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBuild(
            "a step of the building failed",
            where=" ".join(command[:3]),
            found=done.stderr.strip()[-MOST_SAID:],
        )
    return done.stdout
