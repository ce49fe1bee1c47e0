"""Hypothesis without deadlines: machines differ, and the first call pays TensorFlow's import."""

from hypothesis import settings

settings.register_profile("audioloom", deadline=None, derandomize=True)
settings.load_profile("audioloom")
