"""Where labels, targets and groups come from: the path, a table, a database."""
