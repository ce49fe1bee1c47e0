"""Recordings to features: the recipe, the units of work and their processing."""
