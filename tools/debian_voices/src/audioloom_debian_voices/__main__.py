"""`python -m audioloom_debian_voices OUT`."""

import sys

from audioloom_debian_voices.cli import main

if __name__ == "__main__":
    sys.exit(main())
