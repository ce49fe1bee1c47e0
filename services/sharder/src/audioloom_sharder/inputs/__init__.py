"""The features that a run reads: their manifests, their files and the filters for windows."""
