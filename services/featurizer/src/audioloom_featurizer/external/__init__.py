"""Sort, merge and join streams of rows that need not fit into memory."""
