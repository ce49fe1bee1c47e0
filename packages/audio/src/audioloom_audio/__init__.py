"""Extract windows of features from recordings, as a stream in constant memory.

`extract` yields the windows (`Window`) of a recording by `ExtractionSettings`, with the feature
`Mfcc`, `LogMel`, `Waveform` or `Function`. `DigestingReader` computes the checksum of the file
during decoding. Every refusal is a `RefusedRecording` with a stable ``kind``.
"""

from audioloom_audio.decoding.formats import RawFormat
from audioloom_audio.decoding.source import DigestingReader, Source
from audioloom_audio.errors import AudioError, BadSettings, Kind, MissingDecoder, RefusedRecording
from audioloom_audio.extraction import Extraction, extract
from audioloom_audio.features.feature import Engine, Feature
from audioloom_audio.features.filters import mel_filters
from audioloom_audio.features.function import Function
from audioloom_audio.features.mel_features import LogMel, Mfcc
from audioloom_audio.features.waveform import Waveform
from audioloom_audio.recording import Flag, Recording, Summary
from audioloom_audio.settings import ExtractionSettings, resolve_engine
from audioloom_audio.windows import Window, normalised

__all__ = [
    "AudioError",
    "BadSettings",
    "DigestingReader",
    "Engine",
    "Extraction",
    "ExtractionSettings",
    "Feature",
    "Flag",
    "Function",
    "Kind",
    "LogMel",
    "Mfcc",
    "MissingDecoder",
    "RawFormat",
    "Recording",
    "RefusedRecording",
    "Source",
    "Summary",
    "Waveform",
    "Window",
    "extract",
    "mel_filters",
    "normalised",
    "resolve_engine",
]
