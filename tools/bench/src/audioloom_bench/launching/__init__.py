"""Gangs of many workers."""
