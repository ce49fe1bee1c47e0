"""Run the command line, or exit with code 78 if a library is missing."""

import sys

CONFIGURATION = 78  # not imported from audioloom_stage, which may be missing


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        from audioloom_featurizer import cli  # noqa: PLC0415 - it may not be complete
    except ImportError:
        import traceback  # noqa: PLC0415 - seldom needed

        traceback.print_exc()
        return CONFIGURATION
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
