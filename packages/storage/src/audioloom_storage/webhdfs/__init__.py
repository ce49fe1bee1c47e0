"""webhdfs:// over HTTP: the client and the operations."""
