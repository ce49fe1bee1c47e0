"""Streams of sorted rows that need not fit into memory: sort, merge, merge join."""
