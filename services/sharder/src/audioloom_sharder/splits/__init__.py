"""Splits: their names and ratios, and the split of each group or recording."""
