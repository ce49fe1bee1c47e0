"""The program's entry: start the command line after a check of the installation."""

import sys

CONFIGURATION = 78  # copied from audioloom_stage, which may be missing


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from audioloom_trainer import cli  # noqa: PLC0415 - the installation may be incomplete
    except ImportError:
        import traceback  # noqa: PLC0415 - rarely needed

        traceback.print_exc()
        return CONFIGURATION
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
