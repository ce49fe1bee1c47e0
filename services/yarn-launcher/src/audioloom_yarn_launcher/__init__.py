"""The launcher: forms a gang of workers, starts each with TF_CONFIG, watches and restarts them."""
