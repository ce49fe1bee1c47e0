"""This machine as the backend: worker processes and the key-value store that serves them."""
