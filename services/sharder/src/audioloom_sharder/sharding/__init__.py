"""Ranks, lanes and shards: the place of each record of a split."""
