"""Runs as Python objects, with their data."""
