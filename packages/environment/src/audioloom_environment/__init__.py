"""Pack an installed environment with its Python into one archive, shipped once, by its digest.

The modules are imported by name: `contents.describe`, `archive.pack`, `upload.ship`, `build`.
"""
