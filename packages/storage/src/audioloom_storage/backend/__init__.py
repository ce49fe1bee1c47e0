"""The interface of a storage backend, its fault points, and the names of unfinished files."""
