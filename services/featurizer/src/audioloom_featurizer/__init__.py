"""Recordings to windows of features, as a stage. `cli` lists the commands."""
