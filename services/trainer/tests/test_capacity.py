from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened
from audioloom_storage import locate
from audioloom_storage_testing import CountingStore
from audioloom_trainer.capacity import lines_of
from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.errors import CacheTooSmall
from audioloom_trainer.input import staging as staging_module
from audioloom_trainer.input.batches import BatchReader, Replicas, least_cache, needed_shards
from audioloom_trainer.input.cache import Cache
from audioloom_trainer.input.sampler import Shuffle
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.runs.layout import Launch
from audioloom_trainer.runs.progress import EVERY_SECONDS, ProgressFile
from audioloom_trainer.settings import PlanSettings
from audioloom_trainer.shards.shard_set import ShardSet, Split, open_shards
from audioloom_trainer.training.spec import make_spec
from shard_maker import make_shards

WINDOW, BATCH = 2, 7


@pytest.fixture
def shards(tmp_path: Path) -> Opened[ShardsManifest]:
    """Twenty-four shards of six lanes."""
    return make_shards(tmp_path, records={"train": 120}, lanes=6, shards={"train": 24})


@pytest.fixture
def shard_set(shards: Opened[ShardsManifest]) -> ShardSet:
    return open_shards(shards)


@contextmanager
def epoch(shard_set: ShardSet, replicas: Replicas, cache: Cache) -> Iterator[int]:
    """Read all batches of one worker; how many there were."""
    split = shard_set.split("train")
    shuffle = Shuffle(0, 0, WINDOW)
    needs = needed_shards(split, shuffle, replicas, batch=BATCH)
    with Staging(shard_set, needs, cache=cache) as staging:
        reader = BatchReader(split, shuffle, batch=BATCH, replicas=replicas, staging=staging)
        yield sum(1 for _ in reader.batches())


@pytest.mark.parametrize("workers", [1, 2, 6])
def test_the_least_cache_is_enough_and_less_is_not(
    shard_set: ShardSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Whatever the number of workers, who share the lanes."""
    replicas = Replicas(0, 1, workers)
    split: Split = shard_set.split("train")
    least = least_cache(split, WINDOW, replicas)
    whole = Cache(tmp_path / "enough", least)
    with epoch(shard_set, replicas, whole) as batches:
        assert batches == -(-120 // BATCH)
    whole.close()
    monkeypatch.setattr(staging_module, "STALL_SECONDS", 0.0)
    small = Cache(tmp_path / "small", least - max(shard.bytes for shard in split.shards))
    with pytest.raises(CacheTooSmall), epoch(shard_set, replicas, small):
        pass
    small.close()


def planned(
    shards: Opened[ShardsManifest], window: int = 8, **more: object
) -> dict[str, tuple[float, str]]:
    """The lines by name: amount and verdict."""
    settings = PlanSettings(shards=str(shards.folder), shuffle_window=window, **more)  # type: ignore[arg-type]
    spec = make_spec(settings, Cluster(), Launch())
    lines = lines_of(spec, settings.replicas, settings.parameters or 0)
    return {line.name: (line.amount, line.verdict) for line in lines}


def test_calls_while_training_are_those_of_the_progress_file(
    shards: Opened[ShardsManifest], tmp_path: Path
) -> None:
    """Of each worker, as often as it writes one."""
    predicted, _ = planned(shards, replicas=3)["NameNode: calls while training"]
    with CountingStore(tmp_path / "calls").installed() as store:
        for rank in range(3):
            file = ProgressFile(locate(tmp_path), rank, {})
            file.event("start")
        first = store.calls.total()
        for rank in range(3):
            ProgressFile(locate(tmp_path), rank, {}).event("step")
        reads = 3  # of the file that an earlier process left
        assert predicted * EVERY_SECONDS == store.calls.total() - first - reads


def test_what_a_run_would_refuse_is_red(shards: Opened[ShardsManifest]) -> None:
    """Replicas that do not divide the lanes, a cache without room for one window of each."""
    name = "replicas (allowed: 1, 2, 3, 6)"
    assert {"green": 3, "red": 4} == {
        planned(shards, replicas=count)[name][1]: count for count in (3, 4)
    }
    least, verdict = planned(shards, window=WINDOW)["least cache of a worker"]
    assert "green" == verdict
    small = planned(shards, window=WINDOW, cache_bytes=int(least) - 1)
    assert "red" == small["least cache of a worker"][1]


def test_shards_are_staged_again_if_the_cache_is_too_small(shards: Opened[ShardsManifest]) -> None:
    """In every epoch; otherwise in the first alone."""
    once = planned(shards, epochs=5)
    again = planned(shards, epochs=5, cache_bytes="1kB")
    assert 5 * once["bytes read by a worker"][0] == again["bytes read by a worker"][0]
    opens = [each["NameNode: open"][0] for each in (once, again)]
    assert 5 * (opens[0] - 2) == opens[1] - 2


def test_checkpoints_are_predicted_for_a_model_of_known_size(
    shards: Opened[ShardsManifest],
) -> None:
    """Without --parameters nobody knows."""
    assert "a checkpoint, at least" not in planned(shards)
    assert planned(shards, parameters=757 * 10**6)["a checkpoint, at least"][0] == 12
