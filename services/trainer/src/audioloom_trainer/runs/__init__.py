"""The files of a run folder: checkpoints, progress, results and exported models."""
