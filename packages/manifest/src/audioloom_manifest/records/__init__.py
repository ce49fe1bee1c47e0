"""The records of shards as bytes: Examples, framing, indexes and compressed streams."""
