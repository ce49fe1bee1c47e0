"""Recordings to windows of MFCC features, as a stage; `featurize` is its table of contents."""
