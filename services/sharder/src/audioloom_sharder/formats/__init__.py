"""File formats of the shards, the names of the files, and their compression."""
