"""The state of a run, its tables, its logs and the root cause of its failure."""
