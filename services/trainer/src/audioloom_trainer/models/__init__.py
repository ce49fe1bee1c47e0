"""The user's Keras model: its source, its build, its checks and its state."""
