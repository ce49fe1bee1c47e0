"""Scores of splits: what is counted, what is reported, and where records come from."""
