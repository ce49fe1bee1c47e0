# ruff: noqa: T201 - its output is what the logs are about
"""Says whether it got the secrets that its words and variables are to hold, by their digests."""

import hashlib
import os
import sys


def digest(text: str) -> str:
    """What tells a secret and gives it not away."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


print(*[digest(word.rpartition("=")[2]) for word in sys.argv[2:]])
print(digest(os.environ.get("OUR_PASSWORD", "")), "AUDIOLOOM_RUN_SECRETS" in os.environ)
sys.exit(int(sys.argv[1]))
