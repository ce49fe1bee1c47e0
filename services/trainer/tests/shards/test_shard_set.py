from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.errors import BadData
from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.shards.shard_set import open_shards
from manifest_editing import edit_list, edit_manifest
from trainer_program import Trained


@pytest.fixture
def shards(trained: Trained, tmp_path: Path) -> Opened[Any]:
    """Shards that may be damaged."""
    return read_manifest(str(trained.copy(tmp_path).root / "shards" / "demo"), expect="shards")


Entries = list[dict[str, Any]]


def drop_a_shard(entries: Entries) -> None:
    """Its index stays."""
    del entries[next(i for i, each in enumerate(entries) if each["role"] == "shard")]


def number_twice(entries: Entries) -> None:
    """The last shard of a split takes the number of the first."""
    found = [each for each in entries if each["split"] == "train" and each["role"] == "shard"]
    found[-1]["shard"] = 0


def claim_a_record_more(entries: Entries) -> None:
    """Of the first shard of train."""
    found = [each for each in entries if each["split"] == "train" and each["role"] == "shard"]
    found[0]["records"] += 1


def move_a_record(entries: Entries) -> None:
    """The sum is right, the shares of the lanes are not."""
    found = [each for each in entries if each["split"] == "train" and each["role"] == "shard"]
    found[0]["records"] += 1
    found[1]["records"] -= 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (drop_a_shard, "without a gap"),
        (number_twice, "without a gap"),
        (claim_a_record_more, "records in"),
        (move_a_record, "lanes"),
    ],
)
def test_a_list_that_disagrees_is_refused(
    shards: Opened[Any], change: Callable[[Entries], None], text: str
) -> None:
    """By the manifest that it belongs to, with both numbers."""
    edit_list(shards, change)
    with pytest.raises(ShardMismatch, match=text) as caught:
        open_shards(read_manifest(shards.location, expect="shards"))
    assert str(shards.location) == caught.value.where


@pytest.mark.parametrize(("name", "shown"), [("parquet", "Parquet"), ("avro", "Avro")])
def test_a_format_for_other_programs_is_refused(shards: Opened[Any], name: str, shown: str) -> None:
    """In a sentence, with what to do."""
    edit_manifest(shards, lambda value: value["recipe"].update(format=name))
    with pytest.raises(BadData, match=f"TFRecord.*found {name}.*reader of {shown}"):
        open_shards(read_manifest(shards.location, expect="shards"))


def test_a_compressed_shard_says_what_it_unpacks_to(shards: Opened[Any]) -> None:
    """Without that nothing would bound what a copy takes."""
    edit_manifest(shards, lambda value: value["recipe"].update(compression="gzip"))
    with pytest.raises(ShardMismatch, match="unpacks to"):
        open_shards(read_manifest(shards.location, expect="shards"))


def test_labels_that_are_to_be_learned_have_to_be_there(shards: Opened[Any]) -> None:
    """Without them it would be taken for a regression."""
    edit_manifest(shards, lambda value: value["stats"].update(labels=[]))
    with pytest.raises(ShardMismatch, match="labels"):
        open_shards(read_manifest(shards.location, expect="shards"))


def test_a_missing_split_names_those_there_are(shards: Opened[Any]) -> None:
    """In the order of the manifest."""
    with pytest.raises(BadData, match="the splits test, train, val"):
        open_shards(shards).split("dev")


def test_what_can_be_trained_on_is_as_the_manifest_says(shards: Opened[Any]) -> None:
    """Shards by number, each with its index, nothing looked for on disk."""
    found = open_shards(shards)
    assert ((6, 20), "float32", 3) == (found.shape, found.dtype, found.classes)
    train = found.split("train")
    assert list(range(8)) == [shard.number for shard in train.shards]
    assert (96, 4) == (train.layout.total, train.layout.lanes)
    first = train.shards[0]
    stem = first.data.location.name.removesuffix(".tfrecord")
    assert f"{stem}.idx.npy" == first.index.location.name
    assert first.data.bytes + first.index.bytes == first.bytes


def test_class_weights_of_labels_that_are_not_learned_are_refused(
    shards: Opened[Any],
) -> None:
    """They would count nowhere; those of known labels stand by class number, and a gap is 1."""
    edit_manifest(shards, lambda value: value["stats"].update(class_weights={"glad": 2.0}))
    again = read_manifest(shards.folder, expect="shards")
    assert (1.0, 2.0, 1.0) == open_shards(again).class_weights
    edit_manifest(shards, lambda value: value["stats"].update(class_weights={"angry": 2.0}))
    with pytest.raises(ShardMismatch, match="angry"):
        open_shards(read_manifest(shards.folder, expect="shards"))
