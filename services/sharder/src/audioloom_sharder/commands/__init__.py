"""The commands: one module for each command, and the output that several commands share."""
