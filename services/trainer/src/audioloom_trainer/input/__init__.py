"""The path from shards to batches: reading order, local copies and tensors, ahead of need."""
