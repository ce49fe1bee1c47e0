"""Recordings to windows of MFCC features, as a stage. `cli` lists the commands."""
