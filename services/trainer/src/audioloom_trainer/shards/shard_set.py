"""The shards of a manifest, numbered in each split, each with its index."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from audioloom_manifest.envelope import FileEntry, Uncompressed
from audioloom_manifest.kinds import CoefficientStats, ShardsManifest, TargetStats
from audioloom_manifest.reader import Opened
from audioloom_stage.errors import BadData
from audioloom_storage import Location

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.shards.index import Index, parse_index
from audioloom_trainer.shards.layout import Layout

_NAMES = {"parquet": "Parquet", "avro": "Avro", "orc": "ORC"}


@dataclass(frozen=True)
class FileRef:
    """A file and the manifest's facts about it."""

    location: Location
    bytes: int
    sha256: str
    crc32c: str | None = None
    compression: str = "none"
    uncompressed: Uncompressed | None = None
    """None where nothing is to be unpacked."""

    @property
    def content(self) -> Uncompressed:
        """Size and checksums of the unpacked content."""
        if self.uncompressed:
            return self.uncompressed
        return Uncompressed(bytes=self.bytes, sha256=self.sha256, crc32c=self.crc32c)


@dataclass(frozen=True)
class Shard:
    """One shard: the file of its records and the file of its index."""

    split: str
    number: int
    records: int
    data: FileRef
    index: FileRef

    @property
    def bytes(self) -> int:
        """Bytes of both files on local disk, unpacked."""
        return self.data.content.bytes + self.index.content.bytes

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the checksums of both files, unpacked: shards may share an index."""
        both = f"{self.data.content.sha256} {self.index.content.sha256}"
        return hashlib.sha256(both.encode()).hexdigest()


@dataclass(frozen=True)
class Split:
    """All shards of a split, by number."""

    name: str
    layout: Layout
    shards: tuple[Shard, ...]
    labels: dict[str, int]
    """Records of each label."""
    targets: TargetStats | None = None
    """None of classes, and in shards of 1.0."""
    groups: int = 0
    """Groups of its records."""

    def files(self, *, part: int = 0, parts: int = 1) -> Iterator[FileRef]:
        """Yield the shards and indexes, or one of several even parts of them."""
        for shard in self.shards[part::parts]:
            yield from (shard.data, shard.index)


@dataclass(frozen=True)
class ShardSet:
    """The data of a training: all splits of a shards manifest and their facts."""

    shape: tuple[int, ...]
    """Of one window's feature."""
    dtype: str
    """"float32" or "float16", little-endian in the shards."""
    labels: tuple[str, ...]
    """The vocabulary, by class number; empty if the target is a number."""
    splits: dict[str, Split]
    class_weights: tuple[float, ...] | None = None
    """The weight of a record in the loss, by class number; None if all weigh 1."""
    splits_by: str = ""
    coefficients: CoefficientStats | None = None
    """Of each coefficient in train; None if the manifest lacks them."""

    @property
    def classes(self) -> int | None:
        """The number of classes; None if the target is a number."""
        return len(self.labels) or None

    @property
    def target_dtype(self) -> str:
        """The dtype of targets: class numbers or numbers."""
        return "int32" if self.labels else "float32"

    def split(self, name: str) -> Split:
        """Return the split of that name; BadData if there is none."""
        if name not in self.splits:
            raise BadData(
                expected=f"a split {name!r}",
                found=f"the splits {', '.join(self.splits)}",
                hint="Shard the features again with that split.",
            )
        return self.splits[name]

    def parse_index(self, shard: Shard, data: bytes) -> Index:
        """Parse the bytes of a shard's index; raises as `parse_index`."""
        return parse_index(
            data,
            shard.index.location,
            records=shard.records,
            size=shard.data.content.bytes,
            value_bytes=prod(self.shape) * {"float32": 4, "float16": 2}[self.dtype],
            classes=self.classes,
        )


def open_shards(opened: Opened[ShardsManifest]) -> ShardSet:
    """Pair every shard with its index from the manifest's list of files, without storage access.

    Raises:
        BadData: the shards are in a format for other programs.
        ShardMismatch: the list and the manifest's counts differ.
    """
    recipe = opened.manifest.recipe
    if recipe.format != "tfrecord":
        raise BadData(
            where=opened.location,
            expected="shards of TFRecord, the format that this trainer reads",
            found=recipe.format,
            hint="Shard the features again without --format; any reader of"
            f" {_NAMES.get(recipe.format, recipe.format)} can train on these.",
        )
    stats = opened.manifest.stats
    files = opened.files("shard", "index")
    splits = {}
    for name, counted in stats.splits.items():
        entries = [entry for entry in files if entry.split == name]
        shards = _pair(opened, name, entries)
        found = sum(shard.records for shard in shards)
        if len(shards) != counted.shards or found != counted.records:
            expected = f"{counted.records} records in {counted.shards} shards of split {name!r}"
            listed = f"{found} in {len(shards)} in its list of files"
            raise _mismatch(opened, expected, listed)
        try:
            layout = Layout(tuple(shard.records for shard in shards), counted.lanes)
        except ValueError as error:
            expected = f"split {name!r} dealt evenly to {counted.lanes} lanes"
            raise _mismatch(opened, expected, str(error)) from None
        splits[name] = Split(name, layout, shards, counted.labels, counted.targets, counted.groups)
    by_label = opened.manifest.recipe.target == "label"
    if by_label and not stats.labels:
        raise ShardMismatch(
            where=opened.location,
            expected="labels, which its recipe says are to be learned",
            found="none",
            hint="Shard features that have labels, or with numbers as the target.",
        )
    labels = stats.labels if by_label else ()
    return ShardSet(
        tuple(stats.feature.shape),
        stats.feature.dtype,
        tuple(labels),
        splits,
        _class_weights(opened, labels),
        splits_by(opened.manifest),
        stats.splits["train"].coefficients if "train" in stats.splits else None,
    )


def _class_weights(
    opened: Opened[ShardsManifest], labels: Sequence[str]
) -> tuple[float, ...] | None:
    """Return weights by class number; a label without records in train weighs 1, unused."""
    given = opened.manifest.stats.class_weights
    if given is None:
        return None
    if unknown := sorted(given.keys() - {*labels}):
        expected = "class weights of labels that are learned"
        raise _mismatch(opened, expected, f"one for {unknown[0]!r}")
    return tuple(given.get(label, 1.0) for label in labels)


def _pair(
    opened: Opened[ShardsManifest], split: str, entries: Sequence[FileEntry]
) -> tuple[Shard, ...]:
    data = {entry.shard: entry for entry in entries if entry.role == "shard"}
    index = {entry.shard: entry for entry in entries if entry.role == "index"}
    numbers = list(range(len(data)))
    if set(data) != set(numbers) or data.keys() != index.keys():
        expected = f"shards and indexes of split {split!r} numbered from 0 without a gap"
        raise _mismatch(opened, expected, f"{len(data)} shards and {len(index)} indexes")
    return tuple(
        Shard(split, n, data[n].records or 0, _stored(opened, data[n]), _stored(opened, index[n]))
        for n in numbers
    )


def _stored(opened: Opened[ShardsManifest], entry: FileEntry) -> FileRef:
    where, compression = opened.folder / entry.path, opened.manifest.recipe.compression
    if entry.role == "shard" and compression != "none" and entry.uncompressed is None:
        expected = f"what {entry.path} unpacks to, in its list of files"
        raise _mismatch(opened, expected, "nothing")
    checksums = entry.sha256, entry.crc32c
    return FileRef(where, entry.bytes, *checksums, compression, entry.uncompressed)


def _mismatch(opened: Opened[ShardsManifest], expected: str, found: str) -> ShardMismatch:
    return ShardMismatch(where=opened.location, expected=expected, found=found)


def splits_by(manifest: ShardsManifest) -> str:
    """Name the criterion of the splits, in words that follow "the splits were made by"."""
    recipe = manifest.recipe
    if recipe.split_pattern is not None:
        found = f"a pattern of the path, {recipe.split_pattern}"
    elif recipe.split_table_sha256 is not None:
        found = f"a table, SHA-256 {recipe.split_table_sha256[:12]}…"
    elif len(recipe.splits) == 1:
        return "nothing, there is one split"
    elif recipe.ungrouped == "refuse":
        found = "group"
    elif all(split.groups == split.recordings for split in manifest.stats.splits.values()):
        found = "recording, no two share a group"
    else:
        found = "group, and by recording where there was none"
    if recipe.stratify:
        found += ", stratified by label"
    kept = [each.name for each in manifest.inputs if each.kind == "shards"]
    if kept:
        found += f", those of the shards {kept[-1]} kept"
    return found
