"""Concurrent commits, simulated: a seed decides who goes on, who dies, and what is lost.

Writers, readers and a garbage collector run the real code over a storage in memory (which commits
as HDFS does) or a local folder. Only one of them runs at a time, and at each step of theirs the
seed says which one goes on. What must always hold is looked at before every step, what must hold
in the end at the end. To play many: `uv run noxfile.py -s simulate -- --schedules 1000000`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from unittest.mock import patch

from audioloom_manifest.envelope import Envelope, FileEntry, Producer
from audioloom_manifest.errors import ManifestError, MissingManifest, NameTaken
from audioloom_manifest.file_list import check_files
from audioloom_manifest.garbage_collection import garbage, remove_garbage
from audioloom_manifest.kinds import Feature, FeaturesRecipe, FeaturesStats
from audioloom_manifest.layout import run_folder
from audioloom_manifest.publication import Attempt, Committed, Plan, commit, find_committed
from audioloom_manifest.reader import Opened, parse_manifest, read_manifest
from audioloom_manifest.receipts import Receipt, publish_receipt, read_receipts
from audioloom_storage import (
    AlreadyExists,
    Location,
    Unavailable,
    UnknownOutcome,
    create,
    is_temporary,
    locate,
    walk,
)
from audioloom_storage.backend import staged_sink
from audioloom_storage.backend.temporary import temporary_beside
from audioloom_storage_testing import Ended, MemoryStore, Schedule

_FEATURE = Feature(name="mfcc", dtype="float32", shape=(4, 3), sample_rate=16_000, parameters={})
FIRST = FeaturesRecipe(
    algorithm=1,
    feature=_FEATURE,
    engine="numpy",
    windows="first",
    channels="mix",
    unit_bytes=1000,
    unit_recordings=10,
)
OTHER = FIRST.model_copy(update={"windows": "all"})
STATS = FeaturesStats(
    recordings=1,
    extracted=1,
    refused=0,
    flagged=0,
    windows=1,
    audio_seconds=1.0,
    refusals={},
    labels={},
)
NAME = "calls"
YOUNG = 3600.0
AWAY = 2  # requests after a lost one: more than are tried again
ANY_AGE = -60.0  # the clock of a file system may be ahead of ours
MOST = 1 << 20


class Violation(Exception):
    """Something that must hold does not."""


def _is_ours(path: str) -> bool:
    return re.fullmatch(r"features/[a-z_]+-[0-9]+-[0-9a-f]{12}\.parquet", path) is not None


@dataclass(frozen=True)
class Writer:
    """One that runs the stage: work units with receipts, then the commit.

    Args:
        number: which of the writers.
        recipe: what it is asked for, under the same name as the others.
        units: how many.
        steady: whether its data are those of every other writer, or hold a number of its own.
    """

    number: int
    recipe: FeaturesRecipe
    units: int
    steady: bool

    def attempt(self) -> Attempt:
        """Its one try."""
        return Attempt(Producer(stage="featurizer", version="0.1.0"), host="", id=self.id)

    @property
    def id(self) -> str:
        """Of its try."""
        return f"attempt-{self.number}"

    def run(self, root: Location) -> Committed:
        """As a stage does it: look, take up what is done, do the rest, commit."""
        asked = plan(root, self.recipe)
        standing = find_committed(asked)
        if standing is not None:
            return Committed(standing, ours=False)
        names = [f"{self.recipe.windows}-{number}" for number in range(self.units)]
        receipts = dict(read_receipts(asked.folder, names))
        for name in names:
            if name not in receipts:
                receipts[name] = self._do(asked.folder, name)
        files = [file for name in names for file in receipts[name].files]
        return commit(asked, self.attempt(), files, STATS)

    def _do(self, folder: Location, unit: str) -> Receipt:
        data = unit.encode() if self.steady else f"{unit} by {self.number}".encode()
        sha256 = hashlib.sha256(data).hexdigest()
        path = f"features/{unit}-{sha256[:12]}.parquet"
        with suppress(AlreadyExists), create(folder / path) as sink:
            sink.write(data)
        entry = FileEntry(path=path, bytes=len(data), sha256=sha256, role="features", records=1)
        return publish_receipt(folder, Receipt(unit=unit, attempt=self.id, files=(entry,)))


def plan(root: Location, recipe: FeaturesRecipe) -> Plan:
    """What a writer is asked for."""
    return Plan("features", NAME, run_folder(root, "features", NAME), recipe, ())


@dataclass
class Simulation:
    """One schedule.

    Args:
        seed: everything follows from it.
        folder: a local folder that does not exist; None: in memory.
    """

    seed: int
    folder: Path | None = None
    committed: bytes | None = None
    sightings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers = random.Random(self.seed)  # noqa: S311 - no secret
        self._numbers = numbers
        size = numbers.choice((2, 2, 3))
        recipes = [FIRST] * size
        if numbers.random() < 0.4:
            recipes = [numbers.choice((FIRST, OTHER)) for _ in recipes]
        units, steady = numbers.choice((1, 1, 2)), numbers.random() < 0.7
        self.writers = [
            Writer(number, recipe, units, steady) for number, recipe in enumerate(recipes)
        ]
        self.older_than = numbers.choice((None, None, YOUNG, ANY_AGE))
        self.reads = numbers.choice((0, 1, 3))
        self.losses = numbers.choice((0, 0, 0.05, 0.3))
        self.schedule = Schedule(
            self.seed, crash=numbers.choice((0, 0.01, 0.04)), watch=self._watch
        )
        self.root = locate("/simulated" if self.folder is None else self.folder)
        self.run_folder = run_folder(self.root, "features", NAME)
        self._manifest = self.run_folder / "manifest.json"
        self._away = 0
        self._store = MemoryStore(self.schedule.pause, self._lose)

    def run(self) -> None:
        """Play it.

        Raises:
            Violation: with what does not hold.
        """
        tasks: list[Callable[[], object]] = [
            partial(writer.run, self.root) for writer in self.writers
        ]
        if self.older_than is not None:
            tasks.append(self._collect)
        if self.reads:
            tasks.append(self._read)
        with self._storage():
            ended = self.schedule.run(tasks, mortal=len(self.writers))
            self._watch()
            if self.sightings:
                raise Violation(self.sightings[0])
            self._check_answers(ended)
            self._check_rerun()

    @contextmanager
    def _storage(self) -> Iterator[None]:
        tokens = count()  # chance would change the order in which a folder is listed

        def temporary(target: Location) -> Location:
            return temporary_beside(target, f"{next(tokens):016x}")

        with patch.object(staged_sink, "temporary_beside", temporary):
            if self.folder is not None:
                yield
            else:
                with self._store.installed():
                    yield

    def _lose(self) -> str:
        if self._away:
            self._away -= 1
            return "request"
        if self._numbers.random() >= self.losses:
            return ""
        self._away = self._numbers.choice((0, AWAY))
        return self._numbers.choice(("request", "answer"))

    def _peek(self) -> bytes | None:
        if self.folder is None:
            return self._store.peek(self._manifest)
        try:
            return Path(self._manifest.path).read_bytes()
        except FileNotFoundError:
            return None

    def _watch(self) -> None:
        """What holds at every moment: a manifest is whole, and for ever."""
        found = self._peek()
        if found == self.committed or self.sightings:
            return
        if self.committed is not None:
            self.sightings.append("a committed manifest was replaced, or is gone")
            return
        self.committed = found
        try:
            self._verify()
        except (ManifestError, Violation) as error:
            self.sightings.append(f"a manifest is there, and not what it names: {error}")

    def _verify(self) -> Opened[Envelope]:
        opened = read_manifest(self.run_folder)
        files = opened.files()
        for problem in check_files(opened.folder, files):
            raise Violation(f"{problem}")
        windows = opened.manifest.recipe.model_dump()["windows"]
        for file in files:
            if is_temporary(file.path.rpartition("/")[2]):
                raise Violation(f"the manifest names a temporary file: {file.path}")
            if f"features/{windows}-" not in file.path:
                raise Violation(f"the data are of another recipe than {windows}: {file.path}")
        return opened

    def _read(self) -> None:
        seen: Opened[Envelope] | None = None
        for _ in range(self.reads):
            try:
                opened = read_manifest(self.run_folder)
            except MissingManifest:
                if seen is not None:
                    raise Violation("a reader saw a run, and then none") from None
                continue
            if seen is not None and opened.sha256 != seen.sha256:
                raise Violation("a reader saw two runs under one name")
            seen = opened
            for problem in check_files(opened.folder, opened.files()):
                raise Violation(f"a reader saw half a run: {problem}")

    def _collect(self) -> None:
        assert self.older_than is not None
        found = garbage(self.root, "features", _is_ours, older_than=self.older_than)
        deque(remove_garbage(self.root, found), maxlen=0)

    def _check_answers(self, ended: list[Ended]) -> None:
        standing = None if self.committed is None else self._verify()
        for end in ended[len(self.writers) :]:
            if isinstance(end.error, Violation):
                raise end.error
            if end.error is not None:
                raise Violation(f"a reader or gc was told {end.error!r}") from end.error
        for writer, end in zip(self.writers, ended, strict=False):
            if end.error is None:
                self._check_committed(writer, end.value, standing)
            elif not end.crashed:
                self._check_error(writer, end.error, standing)

    def _check_committed(
        self, writer: Writer, told: Committed, standing: Opened[Envelope] | None
    ) -> None:
        who = f"writer {writer.number}"
        if standing is None:
            raise Violation(f"{who} was told of a commit, and there is none")
        if told.opened.sha256 != standing.sha256:
            raise Violation(f"{who} was told of another commit than the one that stands")
        if standing.manifest.recipe != writer.recipe:
            raise Violation(f"{who} was told that a run of another recipe is what it asked for")
        if told.ours != (standing.manifest.execution.attempt == writer.id):
            raise Violation(f"{who} was told ours={told.ours}, and it is not so")

    def _check_error(
        self, writer: Writer, error: BaseException, standing: Opened[Envelope] | None
    ) -> None:
        if standing is not None and standing.manifest.execution.attempt == writer.id:
            raise Violation(f"writer {writer.number} was told {error!r}, and its commit stands")
        if isinstance(error, NameTaken):
            if standing is None or standing.manifest.recipe == writer.recipe:
                raise Violation(f"writer {writer.number} was refused its own name") from error
        elif isinstance(error, UnknownOutcome):
            if not self.losses:
                raise Violation(f"writer {writer.number}: {error!r}") from error
        elif not isinstance(error, Unavailable) or not (self.losses or self.older_than == ANY_AGE):
            # A try that is told to fail may be started again; whatever else was said is not true.
            raise Violation(f"writer {writer.number} was told {error!r}") from error

    def _check_rerun(self) -> None:
        """Whatever was left, the same command again ends well; and gc leaves what is named."""
        self.losses = self._away = 0
        rerun = Writer(len(self.writers), FIRST, self.writers[0].units, self.writers[0].steady)
        before = self.committed
        try:
            again = rerun.run(self.root)
        except NameTaken:
            if before is None or parse_manifest(before, "", None)[1].recipe == FIRST:
                raise Violation("the rerun was refused its own name") from None
        except Exception as error:
            raise Violation(f"the rerun was told {error!r}") from error
        else:
            if again.ours is not (before is None):
                raise Violation(f"the rerun was told ours={again.ours}")
        opened = self._verify()
        if before is not None and before != self._peek():
            raise Violation("the rerun replaced a manifest")
        self.older_than = ANY_AGE
        self._collect()
        self._verify()
        named = {file.path for file in opened.files()}
        named |= {"manifest.json", opened.manifest.files.name}
        left = {entry.location.relative_to(self.run_folder) for entry in walk(self.run_folder)}
        extra = {path for path in left - named if not path.startswith("receipts/")}
        extra |= {path for path in left if is_temporary(path.rpartition("/")[2])}
        if extra:
            raise Violation(f"gc has left {sorted(extra)}")


@dataclass(frozen=True)
class Found:
    """A schedule in which something does not hold."""

    seed: int
    local: bool
    what: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        store = "local" if self.local else "memory"
        steps = "\n".join(f"    {line}" for line in self.trace)
        return (
            f"seed {self.seed} ({store}): {self.what}\n"
            f"  the steps, each after the number of who took it:\n{steps}\n"
            f"  to keep it as a test, add to KNOWN_SEEDS of test_commit_simulation.py:\n"
            f'    ({self.seed}, "{store}"),  # {self.what}'
        )


def play(seed: int, folder: Path | None = None) -> Found | None:
    """Play a schedule, below a local folder or in memory; answer what does not hold."""
    with ExitStack() as until_then:
        if folder is not None:
            made = until_then.enter_context(tempfile.TemporaryDirectory(dir=folder))
            folder = Path(made, "root")
        simulation = Simulation(seed, folder)
        try:
            simulation.run()
        except Violation as violation:
            trace = tuple(simulation.schedule.trace)
            return Found(seed, folder is not None, str(violation), trace)
    return None


@contextmanager
def on_one_processor(number: int) -> Iterator[None]:
    """Keep what this thread starts on one processor: the threads of a schedule take turns."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[number % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def first_found(seeds: range, folder: Path | None = None) -> Found | None:
    """The first schedule of these in which something does not hold."""
    return next(filter(None, (play(seed, folder) for seed in seeds)), None)


def play_block(numbered: tuple[int, range], folder: Path | None) -> Found | None:
    """The first schedule of a numbered block in which something does not hold."""
    number, seeds = numbered
    with on_one_processor(number):
        return first_found(seeds, folder)


def say(line: str) -> None:
    """Show it now."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Play many schedules on all processors; 1 if something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--local", type=Path, help="in this local folder instead of in memory")
    options = parser.parse_args()
    end, block = options.first + options.schedules, 1000
    blocks = [range(start, min(start + block, end)) for start in range(options.first, end, block)]
    started, done, reds = time.monotonic(), 0, 0
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found_in = pool.map(partial(play_block, folder=options.local), enumerate(blocks))
        for seeds, found in zip(blocks, found_in, strict=True):
            done += len(seeds)
            if found is not None:
                reds += 1
                say(str(found))
            rate = done / (time.monotonic() - started)
            left = (options.schedules - done) / rate
            say(f"{done:,} of {options.schedules:,} schedules, {rate:.0f}/s, {left:.0f} s to go")
    say(f"{reds} of {len(blocks)} blocks hold a violation; of each the first was shown")
    return 1 if reds else 0


if __name__ == "__main__":
    sys.exit(main())
