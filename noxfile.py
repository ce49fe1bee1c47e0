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

import atexit
import fnmatch
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
LONGEST_FIRST = [*reversed(SERVICES), *(name for name in PROJECTS if name not in SERVICES)]

nox.options.default_venv_backend = "none"
nox.options.error_on_missing_interpreters = True


def _into(environment: Path) -> dict[str, str]:
    """The variables by which `uv sync` installs into an environment."""
    variables = {"UV_PROJECT_ENVIRONMENT": str(environment), "VIRTUAL_ENV": ""}
    if sys.dont_write_bytecode:
        # As images often tell Python. Then each process would compile TensorFlow again, which takes
        # 7 s of a core.
        variables["UV_COMPILE_BYTECODE"] = "1"
    return variables


def sync(session: nox.Session, project: str, *options: str) -> Path:
    """Bring the environment of *project* in line with its lock file; answer its bin folder."""
    environment = ENVIRONMENTS / project
    session.run_install(
        *("uv", "sync", "--quiet", "--locked", f"--python={PYTHON}"),
        *(f"--project={PROJECTS.get(project, project)}", *(options or ("--group=test",))),
        env=_into(environment),
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


def module_of(project: str) -> str:
    """The name that a project is imported by."""
    return project if project == "audioloom" else f"audioloom_{project.replace('-', '_')}"


def _contract_between_projects() -> str:
    modules = {name: module_of(name) for name in PROJECTS}
    services = [modules[name] for name in SERVICES]
    pipeline = [modules[name] for name in PACKAGES if name not in {"audio", "audio-native"}]
    return f"""
[tool.importlinter]
root_packages = {json.dumps([modules[name] for name in (*PACKAGES, *SERVICES)])}
[[tool.importlinter.contracts]]
name = "No service imports another"
type = "independence"
modules = {json.dumps(services)}
[[tool.importlinter.contracts]]
name = "Dependencies point one way: services and client, spark, environment, runs, stage, ..."
type = "layers"
layers = [{json.dumps(" | ".join([*services, modules["audioloom"]]))},
          "audioloom_spark", "audioloom_environment", "audioloom_runs", "audioloom_stage",
          "audioloom_manifest", "audioloom_storage", "audioloom_hadoop"]
[[tool.importlinter.contracts]]
name = "audio knows nothing of the pipeline"
type = "forbidden"
source_modules = ["audioloom_audio"]
forbidden_modules = {json.dumps(pipeline)}
[[tool.importlinter.contracts]]
name = "The compiled kernels know samples and filters"
type = "forbidden"
source_modules = ["audioloom_audio_native"]
forbidden_modules = {json.dumps([modules[name] for name in PACKAGES if name != "audio-native"])}
"""


@nox.session(default=False)
@nox.parametrize("project", [*PROJECTS], ids=[*PROJECTS])
def types(session: nox.Session, project: str) -> None:
    """Check the types of a project, strictly."""
    python = sync(session, project)
    module = module_of(project)
    session.run(python / "mypy", "--config-file=pyproject.toml", "--package", module, external=True)


@nox.session(default=False)
def contract(session: nox.Session) -> None:
    """Compare models, schemas, cases and frozen digests of `shared/contracts`."""
    python = sync(session, "manifest")
    tests = ROOT / PROJECTS["manifest"] / "tests"
    files = [str(tests / f"test_{name}.py") for name in ("contract", "conformance")]
    session.run(python / "pytest", "--quiet", *files, external=True)


def conftest(project: str) -> str:
    """What all tests of a project share, as text; empty if there is nothing."""
    path = ROOT / PROJECTS[project] / "tests" / "conftest.py"
    return path.read_text() if path.exists() else ""


def shares_the_cluster(project: str) -> bool:
    """Whether the tests of a project use the cluster that all sessions share."""
    return "running()" in conftest(project)


def connects_to_hdfs(project: str) -> bool:
    """Whether the tests of a project are about clients of HDFS, on a cluster of their own."""
    return "--hdfs-only" in conftest(project)


@nox.session
def suite(session: nox.Session) -> None:
    """Check all types and run all tests that run by default, four sessions at a time."""
    shared = [f"tests({name})" for name in PROJECTS if shares_the_cluster(name)]
    others = [name for name in LONGEST_FIRST if not shares_the_cluster(name)]
    in_one = ("--", *_NOT_SLOW)
    # One process each: several of one session would import and prepare everything several times.
    # Where clients of HDFS are tested, some tests must not be in the process of others.
    single = [
        (f"tests({name})", ["-s", f"tests({name})", *(() if connects_to_hdfs(name) else in_one)])
        for name in others
    ]
    environment = cluster(session)
    with _table_of(session, "suite") as rows:
        _run_beside(
            [(name, ["-s", *name.split()]) for name in (*shared, "integration isolated")],
            [*single[:1], ("types", ["-s", "types"]), *single[1:]],
            rows,
            lanes=4,
            environment=environment,
            nice=5,  # the first lane waits for YARN in between, and all would wait for it
        )


@nox.session(default=False)
@nox.parametrize("project", [*PROJECTS], ids=[*PROJECTS])
def tests(session: nox.Session, project: str) -> None:
    """Run the tests of a project in the environment of its lock; `-- -m slow` for the long form."""
    python = sync(session, project)
    words = tested(session, PROJECTS[project] / "tests")
    options = session.posargs or default_form(project)
    session.run(python / "pytest", *words, *options, env=cluster(session), external=True)


_NOT_SLOW = ("-m", "not slow")


def default_form(project: str) -> tuple[str, ...]:
    """How a project is tested by default: two processes, and a third where one waits for YARN."""
    processes = 3 if shares_the_cluster(project) else 2
    return (*_NOT_SLOW, f"--numprocesses={processes}", "--dist=loadgroup")


def cluster(session: nox.Session) -> dict[str, str]:
    """The variable that names the shared cluster, for the default form of a session.

    The long form kills daemons, so it starts a cluster of its own. Sessions within `suite` have
    the variable already.
    """
    given = "AUDIOLOOM_TEST_CLUSTER" in os.environ
    return {} if session.posargs or given else {"AUDIOLOOM_TEST_CLUSTER": str(shared_cluster())}


@functools.cache
def shared_cluster() -> Path:
    """Make a folder for a cluster that ends with this process, however that happens.

    The first test that needs the cluster starts it: `audioloom_mini_cluster.shared_cluster`.
    """
    place = Path(tempfile.mkdtemp(prefix="audioloom-"))
    os.mkfifo(place / "input")
    held = os.open(place / "input", os.O_RDWR)
    atexit.register(_end_cluster, place, held)
    return place


def _end_cluster(place: Path, held: int) -> None:
    os.close(held)
    with suppress(OSError, ValueError):  # no test has started it
        process = json.loads((place / "line").read_text())["process"]
        while b"audioloom_mini_cluster" in Path(f"/proc/{process}/cmdline").read_bytes():
            time.sleep(0.1)
    shutil.rmtree(place)


def tested(session: nox.Session, folder: Path | str) -> list[str]:
    """The folder of the tests, unless files or folders are named behind `--`."""
    named = any(Path(word.partition("::")[0]).exists() for word in session.posargs)
    return [] if named else [str(folder)]


@nox.session(default=False)
def integration(session: nox.Session) -> None:
    """Drive the installed stages on a real cluster; `-- -m slow` for the long form."""
    integration_tests(session, "integration_tests", *(() if session.posargs else _NOT_SLOW))


@nox.session(default=False)
@nox.parametrize("stage", STAGES, ids=STAGES)
def isolated(session: nox.Session, stage: str) -> None:
    """Import all of a stage, and run it, where there is nothing but its wheels and their needs."""
    environment = installed(session, stage)
    session.run("uv", "pip", "check", "--quiet", f"--python={environment}", external=True)
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


@nox.session(default=False)
def quickstart(session: nox.Session) -> None:
    """Make recordings, run the installed stages on them, show what came out: `-- --short`."""
    pipeline(session, "quickstart", *session.posargs)


@nox.session(default=False)
def realdata(session: nox.Session) -> None:
    """Run the pipeline on 1,705 real recordings (Debian's telephone prompts in three languages)."""
    pipeline(session, "realdata", *session.posargs)


@nox.session(default=False)
def compare(session: nox.Session) -> None:
    """Train the quickstart's network with tf_keras alone too, five seeds each; compare scores."""
    pipeline(session, "compare", *session.posargs)


@nox.session(default=False)
def attacks(session: nox.Session) -> None:
    """Attack the installed stages as a stranger would: each line must say `refused`."""
    integration_tests(session, "integration_tests/attacks", "--capture=no", "--quiet")


def integration_tests(session: nox.Session, folder: str, *options: str) -> None:
    """Run black-box tests of the installed stages."""
    python = sync(session, "integration_tests")
    programs = installed_programs(session, "voices", "mini_cluster")
    paths = "pythonpath=integration_tests integration_tests/attacks"
    session.run(
        *(python / "pytest", "-o", paths, *tested(session, folder), *options, *session.posargs),
        env={"AUDIOLOOM_PROGRAMS": programs, **cluster(session)},
        external=True,
    )


def pipeline(session: nox.Session, what: str, *options: str) -> None:
    """Install every stage in an environment of its own, from wheels, and drive their commands."""
    python = sync(session, "quickstart")
    bench = ("bench",) if what == "compare" else ()
    names = ("voices", *bench, *_cluster_tools(options))
    session.run(
        *(python / "python", "-m", "audioloom_quickstart", what, *options),
        env={"AUDIOLOOM_PROGRAMS": installed_programs(session, *names, more=_stores(options))},
        external=True,
    )


def _stores(options: Sequence[str]) -> tuple[str, ...]:
    """The extra of the store that a root lies in."""
    return tuple(f"--extra={name}" for name in ("s3",) if any(f"{name}://" in o for o in options))


def installed_programs(session: nox.Session, *tools: str, more: Sequence[str] = ()) -> str:
    """Install every stage as users do, and some tools; JSON of where each program is."""
    stages = {stage: installed(session, stage, more) / f"bin/audioloom-{stage}" for stage in STAGES}
    programs = {**stages, **{name: sync(session, name) / "python" for name in tools}}
    return json.dumps({name: str(path) for name, path in programs.items()})


def _cluster_tools(options: Sequence[str]) -> tuple[str, ...]:
    return ("mini_cluster",) if "--cluster" in options else ()


_INSTALLED: dict[str, Path] = {}


def installed(session: nox.Session, stage: str, more: Sequence[str] = ()) -> Path:
    """Install a stage as users have it, from wheels into an empty environment; answer that.

    One run of nox does so once for each stage.
    """
    if stage not in _INSTALLED:
        wheels = build_wheels(session, stage)
        environment = ENVIRONMENTS / f"installed-{stage}"
        venv(session, environment)
        session.run_install(
            *("uv", "sync", "--quiet", "--locked", "--no-default-groups", "--no-install-local"),
            *(f"--python={PYTHON}", f"--project={PROJECTS[stage]}", *extras(stage), *more),
            env=_into(environment),
            external=True,
        )
        install = ("uv", "pip", "install", "--quiet", "--no-deps", "--offline")
        session.run_install(*install, f"--python={environment}", *map(str, wheels), external=True)
        _INSTALLED[stage] = environment
    return _INSTALLED[stage]


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
    shard_maker = ROOT / PROJECTS["trainer"] / "tests" / "support" / "shard_maker.py"
    plugins = ("-p", "fault_harness", "-p", "fault_plugin")
    session.run(
        *(python / "pytest", *plugins, str(tests / "faults" / "every_fault.py"), "-v"),
        *session.posargs,
        env={
            "PYTHONPATH": str(tests / "support"),
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
    words = (
        environment / "bin/pytest",
        folder / "tests",
        *(session.posargs or default_form(project)),
    )
    session.run(*words, env=cluster(session), external=True)


@nox.session(default=False)
@nox.parametrize("stage", STAGES, ids=STAGES)
def dist(session: nox.Session, stage: str) -> None:
    """Make what is deployed, `dist/STAGE`: wheels and their hashes, installed without an index."""
    target = ROOT / "dist" / stage
    wheelhouse = target / "wheelhouse"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    requirements = locked_requirements(session, stage, target / "locked.txt")
    tool(session, "pip==26.1", "pip", "wheel", "--quiet", "--require-hashes", "--no-deps",
         f"--wheel-dir={wheelhouse}", f"--requirement={requirements}")  # fmt: skip
    for wheel in build_wheels(session, stage):
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
def nightly(session: nox.Session) -> None:
    """Run everything, also after a failure: `-- --only 'faults,tests(s*)*'` for a part of it."""
    only = session.posargs[1].split(",") if session.posargs[:1] == ["--only"] else ["*"]

    def chosen(names: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
        return [
            (name, words.split())
            for name, words in names
            if any(fnmatch.fnmatch(name, each) for each in only)
        ]

    with _table_of(session, "nightly") as rows:
        rows += [_run_session(*each) for each in chosen([("default", "")])]
        _run_beside(chosen(_installing_stages()), chosen(_beside_them()), rows, lanes=3)


def _installing_stages() -> Iterator[tuple[str, str]]:
    """The long sessions that install stages, which only one may do at a time: name and words."""
    yield "integration slow", "-s integration -- -m slow --ignore-glob=*/attacks"
    yield from ((name, f"-s {name}") for name in ("attacks", "quickstart"))
    yield from ((f"dist({stage})", f"-s dist({stage})") for stage in STAGES)


def _beside_them() -> Iterator[tuple[str, str]]:
    """The other long sessions: the name of each, and what comes behind `nox`."""
    yield from ((name, f"-s {name}") for name in ("faults", "kills"))
    for name in LONGEST_FIRST:
        tests = (ROOT / PROJECTS[name] / "tests").rglob("*.py")
        if any("mark.slow" in test.read_text() for test in tests):
            options = "-m slow --ignore-glob=*/test_kills.py"  # which is the session `kills`
            yield f"tests({name}) slow", f"-s tests({name}) -- {options}"
    yield from ((f"minimums({name})", f"-s minimums({name})") for name in LONGEST_FIRST)
    yield "fuzz", "-s fuzz -- --minutes 15"
    yield "simulate", "-s simulate"


_NOX = (sys.executable, "-m", "nox", "-f", __file__)


_LOGS = ROOT / ".nox" / "logs"
_INTERRUPTED = 128 + signal.SIGINT  # how nox ends after Ctrl-C


def _run_session(
    name: str,
    words: list[str],
    environment: Mapping[str, str] | None = None,
    *,
    nice: int = 0,
) -> tuple[str, ...]:
    """Run sessions by a nox of their own, with a log in .nox/logs; their row of the table."""
    log = _LOGS / f"{name.replace(' ', '-')}.log"
    begin = time.monotonic()
    with (
        log.open("w") as file,
        subprocess.Popen(
            ["/usr/bin/nice", f"-n{nice}", *_NOX, *words],
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        ) as process,
    ):
        _, status, used = os.wait4(process.pid, 0)  # used by all that it started, too
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    text = log.read_text(errors="replace")
    ends = r"(?m)^.*\d+ (?:passed|failed|skipped|errors?)\b.* in [\d.]+s.*$"
    summaries = " ".join(re.findall(ends, text))
    counts = {
        word: sum(int(each) for each in re.findall(rf"(\d+) {word}", summaries))
        for word in ("passed", "failed", "error", "skipped")
    }
    row = (
        *(name, "FAILED" if process.returncode else "success", f"{counts['passed']}"),
        *(f"{counts['failed'] + counts['error']}", f"{counts['skipped']}"),
        *(_minutes(time.monotonic() - begin), _minutes(used.ru_utime + used.ru_stime)),
    )
    shown = text if process.returncode else ""
    print(f"{shown}{row[0]}: {row[1]}, {row[2]} passed, {row[5]}", flush=True)
    return row


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


def _run_beside(
    first: Sequence[tuple[str, list[str]]],
    others: Sequence[tuple[str, list[str]]],
    rows: list[tuple[str, ...]],
    *,
    lanes: int,
    environment: Mapping[str, str] | None = None,
    nice: int = 0,
) -> None:
    """Run sessions in lanes: *first* in turn in one, *others* in whichever is free.

    *nice* is how far the processes of the others give way to those of *first* and of the first of
    the others, the longest. The row of each session is added to *rows* when it ends.
    """

    def run(part: Sequence[tuple[str, list[str]]], nice: int) -> None:
        for name, words in part:
            rows.append(_run_session(name, words, environment, nice=nice))

    with ThreadPoolExecutor(lanes) as pool:
        parts = [first, *([each] for each in others)]
        list(pool.map(run, parts, [0, 0, *(nice for _ in others[1:])]))


@contextmanager
def _table_of(session: nox.Session, name: str) -> Iterator[list[tuple[str, ...]]]:
    """Print and keep the table of the sessions that ran; fail if one of them has failed."""
    rows: list[tuple[str, ...]] = []
    _LOGS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    try:
        yield rows
    finally:
        table = _table(
            [("session", "result", "passed", "failed", "skipped", "time", "processor"), *rows]
        )
        (_LOGS / f"{name}.txt").write_text(table)
        passed, failed, skipped = (sum(int(row[column]) for row in rows) for column in (2, 3, 4))
        counts = f"{passed} passed, {failed} failed, {skipped} skipped"
        print(f"{table}{counts} in {time.monotonic() - begin:.1f}s", flush=True)
    if failures := [row[0] for row in rows if row[1] != "success"]:
        session.error(f"failed: {', '.join(failures)}; logs: .nox/logs")


def _table(rows: list[tuple[str, ...]]) -> str:
    """Columns of text: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        f"{row[0]:<{widths[0]}}"
        + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        + "\n"
        for row in rows
    )


@nox.session(default=False)
def mini_cluster(session: nox.Session) -> None:
    """Give a person HDFS and YARN on this machine, until Ctrl-D."""
    python = sync(session, "mini_cluster")
    session.run(python / "python", "-m", "audioloom_mini_cluster", *session.posargs, external=True)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure: `-- featurize|job|launch|plan|scale|scan|shard|storage|train`, and options."""
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
        {name: str(installed(session, name) / f"bin/audioloom-{name}") for name in stages}
    )


_WHEELS: dict[str, Path] = {}


def build_wheels(session: nox.Session, stage: str) -> list[Path]:
    """Build the wheels of a stage and of its packages, each once in a run of nox."""
    names = [stage, *(name for name in PACKAGES if needs(stage, name))]
    for name in names:
        if name not in _WHEELS:
            folder = ROOT / ".nox" / "wheels" / name
            shutil.rmtree(folder, ignore_errors=True)
            session.run_install(
                *("uv", "build", "--quiet", "--wheel", f"--python={PYTHON}"),
                *(f"--out-dir={folder}", str(PROJECTS[name])),
                external=True,
            )
            (_WHEELS[name],) = folder.glob("*.whl")
    return [_WHEELS[name] for name in names]


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
