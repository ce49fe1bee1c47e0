"""Ranks, lanes and shards: where each record of a split lies."""
