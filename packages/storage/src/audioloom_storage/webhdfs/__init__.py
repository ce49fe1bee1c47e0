"""The webhdfs:// backend over HTTP: the client and the operations."""
