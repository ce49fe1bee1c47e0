"""What every stage does with its run folders: list them, collect garbage, record attempts.

The modules are imported by name: `audioloom_runs.settings` costs a help page next to nothing.
"""
