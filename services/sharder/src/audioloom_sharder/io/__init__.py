"""The executor of units of work, and the memory that they reuse."""
