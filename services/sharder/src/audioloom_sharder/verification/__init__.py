"""Checks of a committed run against its manifest and its inputs."""
