"""The program: the commands for people in `cli`, and the launcher's internal commands."""

import importlib
import sys

INTERNAL = ("worker", "coordinator", "probe")  # written by the launcher itself
CONFIGURATION = 78  # of audioloom_stage, whose import may fail here


def main() -> int:
    """Run the command in the arguments; return the exit code."""
    try:
        from audioloom_stage.process_exit import as_program  # noqa: PLC0415 - it may be missing
    except ImportError:
        return _report_missing()
    return as_program(_run)


def _run() -> int:
    words = sys.argv[1:]
    try:
        # Each command imports only its own modules.
        if words[:1] and words[0] in INTERNAL:
            module = importlib.import_module(f"audioloom_yarn_launcher.commands.{words[0]}")
            return int(module.main(words[1:]))
        from audioloom_yarn_launcher import cli  # noqa: PLC0415

        return cli.main(words)
    except ImportError:
        return _report_missing()


def _report_missing() -> int:
    import traceback  # noqa: PLC0415 - seldom needed

    traceback.print_exc()
    return CONFIGURATION  # not 1, after which the worker would be restarted


if __name__ == "__main__":
    sys.exit(main())
