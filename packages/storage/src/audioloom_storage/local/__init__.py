"""The file:// backend on the operating system: read and write, commit, translate errors."""
