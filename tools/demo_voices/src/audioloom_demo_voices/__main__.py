"""`python -m audioloom_demo_voices OUT`."""

import sys

from audioloom_demo_voices.cli import main

if __name__ == "__main__":
    sys.exit(main())
