"""The executor of units of work, the memory that they reuse, and failures outside the sharder."""
