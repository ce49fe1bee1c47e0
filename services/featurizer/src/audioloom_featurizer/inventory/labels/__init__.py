"""Labels, targets and groups from paths, a table or a database."""
