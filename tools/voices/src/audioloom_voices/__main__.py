"""`python -m audioloom_voices demo|debian OUT`."""

import sys

from audioloom_voices.cli import main

if __name__ == "__main__":
    sys.exit(main())
