"""Where the list of recordings comes from: a walk, Spark tasks, a table."""
