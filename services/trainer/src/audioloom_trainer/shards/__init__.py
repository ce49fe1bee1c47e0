"""The content of a shards manifest: splits, shards and their indexes."""
