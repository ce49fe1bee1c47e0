"""What a shards manifest names: splits, shards and their indexes."""
