"""Data files named by their digest, and scratch folders."""
