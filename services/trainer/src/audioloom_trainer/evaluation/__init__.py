"""Scores of splits: counts, reports and the origins of records."""
