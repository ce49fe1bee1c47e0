"""Splits: their names and ratios, and which split each group or recording falls into."""
