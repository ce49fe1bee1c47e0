"""Recordings to features: the recipe, the units of work, and where and how they are done."""
