"""The work of each command."""
