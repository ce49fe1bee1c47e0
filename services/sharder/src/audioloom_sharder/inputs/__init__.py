"""The features that a run reads: their manifests, their files, and which windows are taken."""
