"""Sources of the list of recordings: a walk, Spark tasks, a table."""
