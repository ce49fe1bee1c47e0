"""`python -m audioloom_yarn_launcher`: the same as the command."""

import sys

from audioloom_yarn_launcher.cli import main

if __name__ == "__main__":
    sys.exit(main())
