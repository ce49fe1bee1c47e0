"""The program: runs the command line, or exits with 78 where the installation is incomplete."""

import sys

CONFIGURATION = 78  # not imported from audioloom_stage, which may be missing


def main() -> int:
    """Run the command line; return the exit code."""
    try:
        from audioloom_sharder import cli  # noqa: PLC0415 - the import may fail
    except ImportError:
        import traceback  # noqa: PLC0415 - seldom needed

        traceback.print_exc()
        return CONFIGURATION
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
