#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.11"
# dependencies = ["nox>=2025.5.1"]
# ///
"""Every action there is: `uv run noxfile.py` runs the default sessions, `-l` lists them all.

Projects are found by glob: a new package, service or tool needs no edit here. Each has its own
lock file and its own environment under `.nox/envs`, made by uv from that lock and nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import nox

ROOT = Path(__file__).parent
ENVIRONMENTS = ROOT / ".nox" / "envs"
PYTHON = "3.11"
RUFF = "ruff==0.15.22"
IMPORT_LINTER = "import-linter==2.13"

PROJECTS = {
    path.parent.name: path.parent.relative_to(ROOT)
    for group in ("packages", "services", "tools")
    for path in sorted(ROOT.glob(f"{group}/*/pyproject.toml"))
}
SERVICES = [name for name, path in PROJECTS.items() if path.parts[0] == "services"]
STAGES = [name for name in SERVICES if any((ROOT / PROJECTS[name]).glob("src/*/cli.py"))]
PACKAGES = [name for name, path in PROJECTS.items() if path.parts[0] == "packages"]

nox.options.default_venv_backend = "none"
nox.options.error_on_missing_interpreters = True


def sync(session: nox.Session, project: str, *options: str) -> Path:
    """Bring the environment of *project* in line with its lock file; answer its bin folder."""
    environment = ENVIRONMENTS / project
    session.run_install(
        *("uv", "sync", "--quiet", "--locked", f"--python={PYTHON}"),
        *(f"--project={PROJECTS.get(project, project)}", *(options or ("--group=test",))),
        env={"UV_PROJECT_ENVIRONMENT": str(environment), "VIRTUAL_ENV": ""},
        external=True,
    )
    return environment / "bin"


def tool(
    session: nox.Session, requirement: str, *command: str, env: dict[str, str] | None = None
) -> None:
    """Run a command-line tool of a pinned version in an environment of its own."""
    run = ("uv", "tool", "run", f"--python={PYTHON}", "--from", requirement)
    session.run(*run, *command, env=env, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format of everything."""
    tool(session, RUFF, "ruff", "check", *session.posargs)
    tool(session, RUFF, "ruff", "format", "--check")


@nox.session
def imports(session: nox.Session) -> None:
    """Check who may import whom: between the projects, and inside each that says so itself."""
    sources = [ROOT / path / "src" for path in PROJECTS.values()]
    env = {"PYTHONPATH": os.pathsep.join(map(str, sources))}
    between = Path(session.create_tmp()) / "between.toml"
    between.write_text(_contract_between_projects())
    tool(session, IMPORT_LINTER, "lint-imports", f"--config={between}", "--no-cache", env=env)
    for path in PROJECTS.values():
        if "[tool.importlinter]" in (ROOT / path / "pyproject.toml").read_text():
            config = f"--config={path / 'pyproject.toml'}"
            tool(session, IMPORT_LINTER, "lint-imports", config, "--no-cache", env=env)


def _contract_between_projects() -> str:
    modules = {name: f"audioloom_{name.replace('-', '_')}" for name in PROJECTS}
    services = [modules[name] for name in SERVICES]
    pipeline = [modules[name] for name in PACKAGES if name not in {"mfcc", "mfcc-native"}]
    return f"""
[tool.importlinter]
root_packages = {json.dumps([modules[name] for name in (*PACKAGES, *SERVICES)])}
[[tool.importlinter.contracts]]
name = "No service imports another"
type = "independence"
modules = {json.dumps(services)}
[[tool.importlinter.contracts]]
name = "Dependencies point one way: services, spark, environment, stage, manifest, storage"
type = "layers"
layers = [{json.dumps(" | ".join(services))}, "audioloom_spark", "audioloom_environment",
          "audioloom_stage", "audioloom_manifest", "audioloom_storage"]
[[tool.importlinter.contracts]]
name = "mfcc knows nothing of the pipeline"
type = "forbidden"
source_modules = ["audioloom_mfcc"]
forbidden_modules = {json.dumps(pipeline)}
[[tool.importlinter.contracts]]
name = "The compiled kernels know samples and filters"
type = "forbidden"
source_modules = ["audioloom_mfcc_native"]
forbidden_modules = {json.dumps([modules[name] for name in PACKAGES if name != "mfcc-native"])}
"""


@nox.session
@nox.parametrize("project", [*PROJECTS], ids=[*PROJECTS])
def types(session: nox.Session, project: str) -> None:
    """Check the types of a project, strictly."""
    python = sync(session, project)
    module = f"audioloom_{project.replace('-', '_')}"
    session.run(python / "mypy", "--config-file=pyproject.toml", "--package", module, external=True)


@nox.session
def contract(session: nox.Session) -> None:
    """Compare models, schemas, fixtures and frozen digests of `shared/contracts`."""
    python = sync(session, "manifest")
    session.run(python / "pytest", "packages/manifest/tests/test_contract.py", external=True)


@nox.session
@nox.parametrize("project", [*PROJECTS], ids=[*PROJECTS])
def tests(session: nox.Session, project: str) -> None:
    """Run the tests of a project in the environment of its lock; `-- -m slow` for the long form."""
    python = sync(session, project)
    options = session.posargs or ["-m", "not slow", "--numprocesses=2", "--dist=loadgroup"]
    session.run(
        python / "pytest", *tested(session, PROJECTS[project] / "tests"), *options, external=True
    )


def tested(session: nox.Session, folder: Path | str) -> list[str]:
    """The folder of the tests, unless files or folders are named behind `--`."""
    named = any(Path(word.partition("::")[0]).exists() for word in session.posargs)
    return [] if named else [str(folder)]


@nox.session
@nox.parametrize("stage", STAGES, ids=STAGES)
def isolated(session: nox.Session, stage: str) -> None:
    """Install a stage's built wheel, and those of its packages, in an empty environment."""
    wheels = build_wheels(session, stage)
    environment = ENVIRONMENTS / f"isolated-{stage}"
    venv(session, environment)
    sync_users(session, stage, environment, "--no-install-local")
    install = ("uv", "pip", "install", "--quiet", "--no-deps", "--offline")
    python = f"--python={environment}"
    session.run_install(*install, python, *sorted(map(str, wheels.glob("*.whl"))), external=True)
    session.run("uv", "pip", "check", "--quiet", python, external=True)
    session.run(environment / "bin/python", "-I", "-c", _IMPORT_ALL, stage, external=True)
    for option in ("--version", "--help"):
        session.run(environment / "bin" / f"audioloom-{stage}", option, external=True, silent=True)


_IMPORT_ALL = """
import importlib, pkgutil, sys
module = importlib.import_module("audioloom_" + sys.argv[1].replace("-", "_"))
names = [info.name for info in pkgutil.walk_packages(module.__path__, module.__name__ + ".")]
for name in names:
    importlib.import_module(name)
print(f"{module.__name__}: {len(names)} modules import from wheels alone")
"""


@nox.session(default=STAGES == SERVICES)
def quickstart_short(session: nox.Session) -> None:
    """Run the quickstart on a small set: the four installed stages, end to end."""
    pipeline(session, "quickstart", "--short", *session.posargs)


@nox.session(default=False)
def quickstart(session: nox.Session) -> None:
    """Make recordings, run the four installed stages on them, and show what came out."""
    pipeline(session, "quickstart", *session.posargs)


@nox.session(default=False)
def realdata(session: nox.Session) -> None:
    """Run the pipeline on 1,705 real recordings (Debian's telephone prompts in three languages)."""
    pipeline(session, "realdata", *session.posargs)


@nox.session(default=False)
def compare(session: nox.Session) -> None:
    """Train the quickstart's network with tf_keras alone too, five seeds each; compare scores."""
    pipeline(session, "compare", *session.posargs)


_NOT_SLOW = ("-m", "not slow")


@nox.session
def integration(session: nox.Session) -> None:
    """Drive the installed stages on a real cluster; `-- -m slow` for the long form."""
    integration_tests(session, "integration_tests", *(() if session.posargs else _NOT_SLOW))


@nox.session(default=False)
def attacks(session: nox.Session) -> None:
    """Attack the installed stages as a stranger would: each line must say `refused`."""
    integration_tests(session, "integration_tests/attacks", "--capture=no", "--quiet")


def integration_tests(session: nox.Session, folder: str, *options: str) -> None:
    """Run black-box tests of the installed stages."""
    python = sync(session, "integration_tests")
    programs = installed_programs(session, "debian_voices", "mini_cluster")
    paths = "pythonpath=integration_tests integration_tests/attacks"
    session.run(
        *(python / "pytest", "-o", paths, *tested(session, folder), *options, *session.posargs),
        env={"AUDIOLOOM_PROGRAMS": programs},
        external=True,
    )


def pipeline(session: nox.Session, what: str, *options: str) -> None:
    """Install every stage in an environment of its own, from wheels, and drive their commands."""
    python = sync(session, "quickstart")
    needed = {"realdata": ("debian_voices",), "compare": ("demo_voices", "bench")}
    names = (*needed.get(what, ("demo_voices",)), *_cluster_tools(options))
    session.run(
        *(python / "python", "-m", "audioloom_quickstart", what, *options),
        env={"AUDIOLOOM_PROGRAMS": installed_programs(session, *names)},
        external=True,
    )


def installed_programs(session: nox.Session, *tools: str) -> str:
    """Install every stage as users do, and some tools; JSON of where each program is."""
    stages = {stage: sync_installed(session, stage) / f"audioloom-{stage}" for stage in STAGES}
    programs = {**stages, **{name: sync(session, name) / "python" for name in tools}}
    return json.dumps({name: str(path) for name, path in programs.items()})


def _cluster_tools(options: Sequence[str]) -> tuple[str, ...]:
    return ("mini_cluster",) if "--cluster" in options else ()


def sync_installed(session: nox.Session, stage: str) -> Path:
    """An environment that holds a stage as users have it: no test tools, nothing editable."""
    environment = ENVIRONMENTS / f"installed-{stage}"
    ours = (f"--reinstall-package=audioloom-{name}" for name in (stage, *PACKAGES))
    sync_users(session, stage, environment, *ours)
    return environment / "bin"


def sync_users(session: nox.Session, stage: str, environment: Path, *options: str) -> None:
    """Bring an environment in line with what the lock of a stage gives its users."""
    session.run_install(
        *("uv", "sync", "--quiet", "--locked", "--no-editable", "--no-default-groups"),
        *(f"--python={PYTHON}", f"--project={PROJECTS[stage]}", *extras(stage), *options),
        env={"UV_PROJECT_ENVIRONMENT": str(environment), "VIRTUAL_ENV": ""},
        external=True,
    )


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Take mutated recordings through the featurizer: `-- --files 100000 --seed 0 --minutes 60`."""
    python = sync(session, "featurizer")
    fuzzing = ROOT / PROJECTS["featurizer"] / "tests" / "support" / "featurizer_fuzzing.py"
    session.run(python / "python", str(fuzzing), *session.posargs, external=True)


@nox.session(default=False)
def simulate(session: nox.Session) -> None:
    """Play seeded schedules of concurrent commits: `-- --schedules 1000000 --first 0`."""
    python = sync(session, "manifest")
    simulation = ROOT / PROJECTS["manifest"] / "tests" / "support" / "commit_simulation.py"
    session.run(python / "python", str(simulation), *session.posargs, external=True)


@nox.session(default=False)
def kills(session: nox.Session) -> None:
    """Kill workers of a training at every kind of moment: it ends like one that never was."""
    python = sync(session, "trainer")
    tests = ROOT / PROJECTS["trainer"] / "tests" / "training" / "test_kills.py"
    session.run(python / "pytest", str(tests), "-v", *session.posargs, external=True)


@nox.session(default=False)
def faults(session: nox.Session) -> None:
    """Do to gangs, on this machine and on a real cluster, what can be done: `-- --count 3`."""
    python, trainer = sync(session, "yarn-launcher"), sync(session, "trainer")
    tests = ROOT / PROJECTS["yarn-launcher"] / "tests"
    suite = tests / "faults"
    shard_maker = ROOT / PROJECTS["trainer"] / "tests" / "support" / "shard_maker.py"
    session.run(
        *(python / "pytest", "-p", "ground", "-p", "suite", str(suite / "every_fault.py"), "-v"),
        *session.posargs,
        env={
            "PYTHONPATH": os.pathsep.join(map(str, (suite, tests))),
            "FAULTS_TRAINER": str(trainer / "python"),
            "FAULTS_SHARD_MAKER": str(shard_maker),
        },
        external=True,
    )


@nox.session(default=False)
@nox.parametrize("project", [*PROJECTS], ids=[*PROJECTS])
def minimums(session: nox.Session, project: str) -> None:
    """Run a project's tests with the lowest versions that it and its siblings allow."""
    folder = PROJECTS[project]
    environment = ENVIRONMENTS / f"minimums-{project}"
    venv(session, environment)
    session.run_install(
        *("uv", "pip", "install", "--quiet", f"--python={environment}", f"--project={folder}"),
        *("--resolution=lowest-direct", f"--group={folder}/pyproject.toml:test"),
        *("--all-extras", f"--requirements={folder}/pyproject.toml", f"--editable={folder}"),
        external=True,
    )
    options = session.posargs or ["-m", "not slow"]
    session.run(environment / "bin/pytest", str(folder / "tests"), *options, external=True)


@nox.session(default=False)
@nox.parametrize("stage", STAGES, ids=STAGES)
def dist(session: nox.Session, stage: str) -> None:
    """Make what is deployed, `dist/STAGE`: wheels and their hashes, installed without an index."""
    target = ROOT / "dist" / stage
    wheelhouse = target / "wheelhouse"
    shutil.rmtree(target, ignore_errors=True)
    wheels = build_wheels(session, stage)
    target.mkdir(parents=True)
    requirements = locked_requirements(session, stage, target / "locked.txt")
    tool(session, "pip==26.1", "pip", "wheel", "--quiet", "--require-hashes", "--no-deps",
         f"--wheel-dir={wheelhouse}", f"--requirement={requirements}")  # fmt: skip
    for wheel in wheels.glob("*.whl"):
        shutil.copy(wheel, wheelhouse)
    Path(requirements).unlink()
    pinned = write_pins(wheelhouse, target / "requirements.txt")
    environment = ENVIRONMENTS / f"dist-{stage}"
    venv(session, environment)
    install = (
        *("uv", "pip", "install", "--no-index", "--offline", "--require-hashes"),
        *(f"--find-links={wheelhouse.name}", f"--requirements={pinned.name}"),
    )
    with session.chdir(target):
        session.run(*install, "--quiet", "--no-cache", f"--python={environment}", external=True)
    for option in ("--version", "--help"):
        session.run(environment / "bin" / f"audioloom-{stage}", option, external=True, silent=True)
    size = sum(wheel.stat().st_size for wheel in wheelhouse.iterdir())
    session.log(f"made {target.relative_to(ROOT)} ({size / 1e6:.0f} MB); to install, in it:")
    session.log(" ".join(install))


def write_pins(wheelhouse: Path, target: Path) -> Path:
    """Pin every wheel of a wheelhouse by version and SHA-256."""
    import hashlib  # noqa: PLC0415

    lines = []
    for wheel in sorted(wheelhouse.glob("*.whl")):
        name, version = wheel.name.split("-")[:2]
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines.append(f"{name}=={version} --hash=sha256:{digest}\n")
    target.write_text("".join(lines))
    return target


@nox.session(default=False)
def mini_cluster(session: nox.Session) -> None:
    """Give a person HDFS and YARN on this machine, until Ctrl-D."""
    python = sync(session, "mini_cluster")
    session.run(python / "python", "-m", "audioloom_mini_cluster", *session.posargs, external=True)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure: `-- featurize|job|launch|scan|shard|storage|train [--json FILE] [--png FILE]`."""
    python = sync(session, "bench")
    session.run(
        *(python / "python", "-m", "audioloom_bench", *session.posargs),
        env={"AUDIOLOOM_PROGRAMS": _launched(session)} if "launch" in session.posargs else {},
        external=True,
    )


def _launched(session: nox.Session) -> str:
    """The launcher as users have it, and a TensorFlow for it to launch; JSON of where they are."""
    stages = ("yarn-launcher", "trainer")
    return json.dumps(
        {name: str(sync_installed(session, name) / f"audioloom-{name}") for name in stages}
    )


def build_wheels(session: nox.Session, stage: str) -> Path:
    """Build the wheels of a stage and of every package into a fresh folder."""
    wheels = Path(session.create_tmp()) / stage / "wheels"
    shutil.rmtree(wheels.parent, ignore_errors=True)
    for path in (PROJECTS[stage], *(PROJECTS[name] for name in PACKAGES if needs(stage, name))):
        session.run_install(
            *("uv", "build", "--quiet", "--wheel", f"--python={PYTHON}", f"--out-dir={wheels}"),
            str(path),
            external=True,
        )
    return wheels


def needs(stage: str, package: str) -> bool:
    """Whether the lock of a stage holds a package of ours."""
    lock = (ROOT / PROJECTS[stage] / "uv.lock").read_text()
    return f'name = "audioloom-{package}"' in lock


def locked_requirements(session: nox.Session, stage: str, target: Path) -> str:
    """Write what a stage's lock pins, hashes and all, without our own projects."""
    target.parent.mkdir(parents=True, exist_ok=True)
    session.run_install(
        *("uv", "export", "--quiet", "--locked", f"--project={PROJECTS[stage]}", *extras(stage)),
        *("--no-default-groups", "--no-emit-local", f"--output-file={target}"),
        external=True,
        silent=True,
    )
    return str(target)


def extras(stage: str) -> tuple[str, ...]:
    """What a stage is installed with here: TensorFlow for the processor, where it asks for one."""
    asks = "\ncpu = [" in (ROOT / PROJECTS[stage] / "pyproject.toml").read_text()
    return ("--extra=cpu",) if asks else ()


def venv(session: nox.Session, environment: Path) -> None:
    """Make an empty environment."""
    session.run_install(
        "uv", "venv", "--quiet", "--clear", f"--python={PYTHON}", str(environment), external=True
    )


if __name__ == "__main__":
    nox.main()
