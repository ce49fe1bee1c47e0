"""Features of librosa as functions for `--feature`: copy one, and change it as you like.

    audioloom-featurizer run RECORDINGS --feature librosa_features.py:chroma

A function gets the samples of one window (float32, zeros where the recording has ended) and the
sample rate in Hz; its other parameters are given by `--feature-arg`.
"""

import librosa
import numpy as np


def chroma(samples, rate, n_chroma=12):
    """Energy of the twelve pitch classes, `(12, frames)`: for music and for birds."""
    return librosa.feature.chroma_stft(y=samples, sr=rate, n_chroma=n_chroma, tuning=0.0)


def contrast(samples, rate, fmin=200.0, n_bands=6):
    """Peaks over valleys of octave bands in dB, `(n_bands + 1, frames)`: voices against noise."""
    return librosa.feature.spectral_contrast(y=samples, sr=rate, fmin=fmin, n_bands=n_bands)


def deltas(samples, rate, n_mfcc=13, width=9):
    """MFCC with their first and second differences in time, `(3 * n_mfcc, frames)`."""
    cepstra = librosa.feature.mfcc(y=samples, sr=rate, n_mfcc=n_mfcc)
    orders = [librosa.feature.delta(cepstra, width=width, order=order) for order in (1, 2)]
    return np.vstack([cepstra, *orders])
