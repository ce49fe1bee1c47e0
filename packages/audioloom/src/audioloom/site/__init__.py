"""The static site over the runs of a root."""
