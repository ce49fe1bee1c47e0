"""A stage that does nothing but misbehave, run by the tests as a real program."""

import logging
import os
import subprocess
import sys
import time
import warnings
from enum import Enum
from typing import Annotated, ClassVar, Literal
from unittest import mock

import structlog
from audioloom_stage import progress_bar
from audioloom_stage.app import StageApp, command
from audioloom_stage.errors import BadData
from audioloom_stage.logs import bind
from audioloom_stage.program import run_app
from audioloom_stage.progress_bar import progress, working
from audioloom_stage.result import Result
from audioloom_stage.settings import Flag, Positional, Secret, Settings
from pydantic import Field

log = structlog.get_logger()
app = StageApp(
    "toy",
    help="Misbehave in tests.",
    stages=("toy", "trainer"),
    families={"pen": "Hold sheep."},
)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class RunSettings(Settings):
    groups: ClassVar = {"Shape of things": "share dtype colour", "Hands": "workers"}

    what: Annotated[str, Positional("WHAT")] = Field(description="What to do.")
    more: Annotated[tuple[str, ...], Positional("MORE")] = Field((), description="And then.")
    lanes: int = Field(24, ge=1, description="How many lanes.")
    rate: float | None = Field(None, description="How fast.")
    dtype: Literal["float32", "float16"] = Field("float32", description="How wide.")
    colour: Colour = Field(Colour.RED, description="How bright.")
    share: Literal["auto"] | int = Field("auto", description="How much.")
    tag: tuple[str, ...] = Field((), description="What else.")
    model_arg: dict[str, int | float | bool | str] = Field({}, description="What for.")
    shuffle: bool = Field(default=True, description="Whether to mix.")
    slow: bool = Field(default=False, description="Whether to take time.")
    workers: Annotated[int, Flag("-w")] = Field(1, description="How many hands.")
    password: Secret | None = Field(None, description="What nobody may see.")


@command(app, RunSettings)
def run(settings: RunSettings) -> Result:
    """Do WHAT it is told."""
    bind(run="toy-1")
    log.info("working", file="evil\x1b[2Jname")
    ACTIONS[settings.what](settings)
    return Result(
        f"said {settings.what}",
        settings.model_dump(mode="json"),
        next=("audioloom-toy list", "audioloom-toy verify"),
    )


class ListSettings(Settings):
    root: str = Field(".", description="Where to look.")
    lines: int = Field(100_000, description="How many lines to say.")


@command(app, ListSettings)
def list_(settings: ListSettings) -> Result:
    """Say many lines."""
    return Result((f"line {n}" for n in range(settings.lines)), {"root": settings.root})


@command(app, ListSettings)
def verify(settings: ListSettings) -> Result:
    """Find that something is wrong, in a sentence that is longer than one line of a terminal."""
    return Result("damaged", {"files": 3}, exit_code=65, next=("never said",))


@command(app, ListSettings, name="pen count")
def pen_count(settings: ListSettings) -> Result:
    """Count the sheep of a pen."""
    return Result("0", {"root": settings.root})


@command(app, ListSettings, name="pen list")
def pen_list(settings: ListSettings) -> Result:
    """List the sheep in the pen."""
    return Result(f"no sheep in {settings.root}", {"root": settings.root})


def nothing(_: RunSettings) -> None:
    """Do as told and say nothing."""


def noise(_: RunSettings) -> None:
    """Write to stdout in every way that a library can."""
    print("printed")  # noqa: T201
    sys.stdout.write("written")
    os.write(1, b"by descriptor\n")
    subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)


def lingering_child(_: RunSettings) -> None:
    """Leave a child behind that lives on, and say which."""
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    child = subprocess.Popen(sleep, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    print(child.pid)  # noqa: T201


def foreign(settings: RunSettings) -> None:
    """Log as other libraries do."""
    logging.getLogger("py4j").info("chatter")
    logging.getLogger("tensorflow").warning("careful with %s", "this")
    warnings.warn("ageing", UserWarning, stacklevel=1)
    log.debug("details")
    log.info("secret", password=settings.password, all=settings)
    try:
        int("inner")
    except ValueError:
        log.exception("went wrong")


def bug(_: RunSettings) -> None:
    """Fail as nobody planned."""
    hidden = "local variable"
    {}[len(hidden)]


def bad(_: RunSettings) -> None:
    """Fail as planned."""
    raise BadData(expected="a drum", found="a \x1b[2Jflute", where="/band", hint="drum")


def full(_: RunSettings) -> None:
    """Find the disk full."""
    with open("/dev/full", "w") as file:  # noqa: PTH123
        file.write("x")


def interrupted(_: RunSettings) -> None:
    """Be interrupted."""
    raise KeyboardInterrupt


def leave(_: RunSettings) -> None:
    """Exit as a library might."""
    raise SystemExit("giving up")


def count(_: RunSettings) -> None:
    """Show progress."""
    often = mock.patch.multiple(progress_bar, EVERY_SECONDS=0.02, REDRAW_SECONDS=0.01)
    with often, working("waking the sheep"):
        time.sleep(0.3)
    with often, progress(3, "counting", "sheep") as bar:
        for _each in bar.over(range(3)):
            time.sleep(0.3)
    log.info("counted")


ACTIONS = {
    "nothing": nothing,
    "noise": noise,
    "lingering-child": lingering_child,
    "foreign": foreign,
    "bug": bug,
    "bad": bad,
    "full": full,
    "interrupted": interrupted,
    "leave": leave,
    "count": count,
}

main = run_app(app)

if __name__ == "__main__":
    raise SystemExit(main())
