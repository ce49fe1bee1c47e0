"""Command line, settings, logs, exit codes, progress and results of every audioloom stage.

Names are imported from the modules that define them: a Spark task that logs pays for structlog and
not for typer, and `--help` pays for typer and not for structlog.
"""
