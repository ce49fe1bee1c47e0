"""Lets the workers of a program meet, starts them with TF_CONFIG, watches and restarts them."""
