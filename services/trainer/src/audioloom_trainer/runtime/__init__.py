"""The process: cores, memory, signals and retries, set up before TensorFlow is imported."""
