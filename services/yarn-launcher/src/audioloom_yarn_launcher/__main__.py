"""The program: the commands for people in `cli`, and those for the launcher itself."""

from __future__ import annotations

import sys

CONFIGURATION = 78  # of audioloom_stage, which may be what is missing


def main() -> int:
    """Run the command that the words name; the exit code."""
    try:
        return _main()
    except ImportError:  # not 1, after which it would be started again
        import traceback  # noqa: PLC0415 - seldom needed

        traceback.print_exc()
        return CONFIGURATION


def _main() -> int:
    if sys.argv[1:2] == ["worker"]:
        from audioloom_yarn_launcher import worker_entry  # noqa: PLC0415 - one of them

        return worker_entry.main(sys.argv[2:])
    if sys.argv[1:2] == ["coordinator"]:
        from audioloom_yarn_launcher import coordinator_entry  # noqa: PLC0415

        return coordinator_entry.main(sys.argv[2:])
    if sys.argv[1:2] == ["probe"]:
        from audioloom_yarn_launcher import probe_in_container  # noqa: PLC0415

        return probe_in_container.main(sys.argv[2:])
    from audioloom_yarn_launcher import cli  # noqa: PLC0415

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
