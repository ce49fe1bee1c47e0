"""The coordinator of a gang: formation, restarts and records; it knows no backend."""
