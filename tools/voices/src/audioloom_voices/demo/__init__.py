"""Synthetic recordings: prosody classes that say the same sentences in the same voices."""
