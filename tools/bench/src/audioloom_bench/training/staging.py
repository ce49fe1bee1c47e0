"""Staging from HDFS, and the first epoch over it, on a mini-cluster of one node.

The floor reads the same files by hdfs-native, one stream a file, and keeps nothing; staging also
writes them to local disk and takes their checksums. The first epoch begins with an empty cache; it
can be no faster than staging, nor than steps from a full cache.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from audioloom_manifest.reader import read_manifest
from audioloom_mini_cluster.client import running
from audioloom_storage import locate
from audioloom_trainer.shards.shard_set import open_shards

from audioloom_bench.made_shards import made_shards
from audioloom_bench.measure import FLOOR, Lane
from audioloom_bench.same_network import DEFAULT
from audioloom_bench.training.figures import OURS, figures, single
from audioloom_bench.training.loops import Trainer, opened, ours
from audioloom_bench.training.pipelines import BATCH, Epochs
from audioloom_bench.training.team import Taken, Tidied, Work, interleaved, team

LANES, SHARDS, WINDOW = 4, 128, 1
"""A feed begins when it has a window of each lane: here 4 shards of 128, about 3 % of the epoch."""
LONGER = 2
"""Times as many steps as in other parts: a shard has 6 MB then, still less than real ones."""
THREADS = 1
"""For the steps: of two cores the other is for staging, and for HDFS, which runs here too."""
FIRST_EPOCH, WARM = "first epoch", "warm epoch"
SHARE = "first epoch from HDFS, share of min(staging, steps)"
LEAST = 90.0
"""Percent; less is a failure."""


def lanes(manifest: str, steps: int, rounds: int) -> list[Lane]:
    """MB a second and a processor's second, and the first epoch, of shards of its own on HDFS."""
    del manifest
    steps *= LONGER
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="audioloom-bench-")))
        cluster = stack.enter_context(running("--nodes=1", "--hdfs-only"))
        stack.enter_context(cluster.exported())
        root = locate(f"{cluster.hdfs}/bench-train")
        made = made_shards(root, steps * BATCH, lanes=LANES, shards=SHARDS)
        where = str(made.location)
        warm = partial(ours, cache=scratch / "warm", window=WINDOW, threads=THREADS)
        found = interleaved(
            {
                FLOOR: stack.enter_context(team(raw, where)),
                OURS: stack.enter_context(team(staged, where, scratch)),
                FIRST_EPOCH: stack.enter_context(team(first_epoch, where, steps, scratch)),
                WARM: stack.enter_context(team(warm, DEFAULT, where, steps)),
            },
            rounds,
        )
    megabytes = made.manifest.stats.splits["train"].bytes / 1e6
    return [
        *_staging(found, megabytes),
        *_epochs(found, steps * BATCH),
    ]


def _staging(found: dict[str, list[Taken]], megabytes: float) -> list[Lane]:
    reading = {name: found[name] for name in (FLOOR, OURS)}
    wall = {name: [each.seconds for each in taken] for name, taken in reading.items()}
    cpu = {name: [each.cpu for each in taken] for name, taken in reading.items()}
    return [
        *figures(wall, "staging from HDFS, by the clock", "MB / s", amount=megabytes),
        *figures(cpu, "staging from HDFS, processor", "MB / core-s", amount=megabytes),
    ]


def _epochs(found: dict[str, list[Taken]], records: int) -> list[Lane]:
    wall = {"staging alone": OURS, FIRST_EPOCH: FIRST_EPOCH, WARM: WARM}
    seconds = {shown: [each.seconds for each in found[name]] for shown, name in wall.items()}
    shares = [share(*each) for each in zip(*seconds.values(), strict=True)]
    return [
        *figures(seconds, "epochs from HDFS", "records / s", amount=records),
        single(SHARE, statistics.median(shares), "%"),
    ]


def share(staging: float, first: float, warm: float) -> float:
    """Percent of the slower of two rates that a third reaches; given the seconds of each."""
    return 100 * max(staging, warm) / first


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """What of the first epoch is lost."""
    return [
        f"{SHARE}: {lane.value:.0f} %, expected at least {LEAST:g}"
        for lane in lanes
        if lane.input == SHARE and lane.value < LEAST
    ]


def raw(manifest: str) -> Work:
    """Every shard read by hdfs-native alone."""
    from hdfs_native import Client  # noqa: PLC0415

    split = open_shards(read_manifest(manifest, expect="shards")).split("train")
    files = [file for shard in split.shards for file in (shard.data, shard.index)]
    client = Client(manifest)

    def read() -> None:
        for file in files:
            pieces = client.read(file.location.path).read_range_stream(0, file.bytes)
            if (found := sum(map(len, pieces))) != file.bytes:
                raise RuntimeError(f"expected {file.bytes} bytes, found {found}")

    return read


def staged(manifest: str, scratch: Path) -> Work:
    """Every shard of an epoch brought to an empty cache by the trainer's staging."""
    from audioloom_trainer.input.batches import Replicas, needed_shards  # noqa: PLC0415
    from audioloom_trainer.input.sampler import Shuffle  # noqa: PLC0415
    from audioloom_trainer.input.staging import Staging  # noqa: PLC0415

    shard_set = open_shards(read_manifest(manifest, expect="shards"))
    shuffle = Shuffle(0, 0, WINDOW)
    needs = [*needed_shards(shard_set.split("train"), shuffle, Replicas(), batch=BATCH)]

    folder = scratch / "staged"

    def stage() -> None:
        folder.mkdir()
        cache = opened(folder)
        with Staging(shard_set, needs, cache=cache) as staging:
            for shard in needs:
                staging.hold([shard])
                staging.release([shard])
        cache.close()

    return Tidied(stage, partial(shutil.rmtree, folder))


def first_epoch(manifest: str, steps: int, scratch: Path) -> Work:
    """An epoch of training that begins with an empty cache; the step was compiled before."""
    trainer = Trainer(DEFAULT, threads=THREADS)
    folder = scratch / "first"

    def epoch() -> None:
        folder.mkdir()
        cache = opened(folder)
        epochs = Epochs(manifest, cache=cache, window=WINDOW, needed=1)
        trainer.train(epochs.stream(), steps)
        epochs.close()
        cache.close()

    return Tidied(epoch, partial(shutil.rmtree, folder))
