"""Real recordings: telephone prompts from packages of Debian that are never installed."""
