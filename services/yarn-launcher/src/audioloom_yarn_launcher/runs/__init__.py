"""The run folder: its request, lease, attempts, submissions and other records."""
