"""The program: runs the command line, or exits with 78 where the installation is incomplete."""

import sys

CONFIGURATION = 78  # of audioloom_stage, which may be what is missing


def main() -> int:
    """Run the command that the words name; the exit code."""
    try:
        from audioloom_sharder import cli  # noqa: PLC0415 - it may not be complete
    except ImportError:
        import traceback  # noqa: PLC0415 - seldom needed

        traceback.print_exc()
        return CONFIGURATION
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
