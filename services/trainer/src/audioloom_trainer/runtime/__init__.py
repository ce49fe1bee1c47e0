"""The process itself: cores, memory, signals and retries, before TensorFlow is imported."""
