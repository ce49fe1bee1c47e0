"""Samples of a recording to the signals that become windows: channels, codes, resampling."""
