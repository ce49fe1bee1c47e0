"""The recipe of a run, where settings leave a choice to the size of the features."""

from itertools import pairwise

import pytest
from audioloom_sharder.recipe import default_lanes
from audioloom_sharder.settings import LANES


@pytest.mark.parametrize(
    ("shards", "requested", "lanes"),
    [
        (0.3, None, 24),
        (479, None, 24),
        (480, None, 120),
        (3839, None, 120),
        (3840, None, 960),
        (1e6, None, 960),
        (4800, 4800, 960),
        (5880, 5880, 120),
        (5016, 5016, 24),
    ],
)
def test_more_shards_are_dealt_to_more_lanes(
    shards: float, requested: int | None, lanes: int
) -> None:
    """Four shards a lane at least; a number that was asked for is a multiple of them."""
    assert lanes == default_lanes(shards, requested=requested)


def test_the_default_lanes_divide_each_other() -> None:
    """So the workers of a smaller archive can train on a larger one."""
    assert all(more % fewer == 0 for more, fewer in pairwise(LANES))
