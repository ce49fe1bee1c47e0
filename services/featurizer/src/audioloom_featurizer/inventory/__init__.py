"""The list of recordings: how it is made, written and read."""
