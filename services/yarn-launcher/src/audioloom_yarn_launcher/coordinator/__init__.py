"""The coordinator of a gang: formation, restarts, failover and records; it knows no backend."""
