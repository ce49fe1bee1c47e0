"""One training from its start to its commit."""
