"""file:// by the operating system: read and write, commit, translate errors."""
