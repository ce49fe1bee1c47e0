"""The layout of a split: its records in shards, and its shards in lanes."""

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Layout:
    """The number of records in each shard of a split, by shard number, and the split's lanes.

    Raises:
        ValueError: the lanes do not get the numbers of records that the order needs.
    """

    records: tuple[int, ...]
    lanes: int

    def __post_init__(self) -> None:
        if self.lanes < 1 or len(self.records) % self.lanes or min(self.records, default=0) < 1:
            raise ValueError(
                f"{len(self.records)} shards for {self.lanes} lanes, the smallest of"
                f" {min(self.records, default=0)} records"
            )
        for lane in range(self.lanes):
            held = sum(self.records[lane :: self.lanes])
            needed = len(range(lane, self.total, self.lanes))
            if held != needed:
                raise ValueError(f"lane {lane} holds {held} records, its share is {needed}")

    @cached_property
    def total(self) -> int:
        """The number of records in the split."""
        return sum(self.records)
