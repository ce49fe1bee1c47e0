"""Convert samples of a recording to signals for windows: channels, codes, resampling."""
