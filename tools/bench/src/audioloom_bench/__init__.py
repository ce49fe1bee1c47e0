"""Benchmarks: each lane beside the naive pipeline and the limit, interleaved in one run."""
