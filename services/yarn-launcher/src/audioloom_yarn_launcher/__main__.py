"""The program: the commands for people in `cli`, and the one for the launcher itself."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command that the words name; the exit code."""
    if sys.argv[1:2] == ["worker"]:
        from audioloom_yarn_launcher import worker_entry  # noqa: PLC0415 - either this or that

        return worker_entry.main(sys.argv[2:])
    from audioloom_yarn_launcher import cli  # noqa: PLC0415

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
