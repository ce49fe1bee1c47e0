"""Make, write and read the list of recordings."""
