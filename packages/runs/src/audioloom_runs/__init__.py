"""Work on the run folders of every stage: list them, collect garbage, record attempts.

The modules are imported by name: `audioloom_runs.settings` costs a help page next to nothing.
"""
