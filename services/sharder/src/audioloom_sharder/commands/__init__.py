"""The commands: one module for each verb, and what several of them print."""
