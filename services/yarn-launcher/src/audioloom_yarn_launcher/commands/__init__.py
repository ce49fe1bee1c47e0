"""The commands, one module each: those for people and those that run in containers."""
