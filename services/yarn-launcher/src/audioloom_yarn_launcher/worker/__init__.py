"""The agent of one rank: it meets the gang, runs the command and reports its end."""
