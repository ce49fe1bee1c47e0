"""Real Hadoop daemons on this machine, for tests and for trying things by hand."""
