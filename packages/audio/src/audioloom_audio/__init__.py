"""Extract MFCC windows from recordings, as a stream in constant memory.

`extract` yields the windows (`Window`) of a recording by `MfccSettings`, and `DigestingReader`
computes the checksum of the file during decoding. Every refusal is a `RefusedRecording` with a
stable ``kind``.
"""

from audioloom_audio.decoding.source import DigestingReader, Source
from audioloom_audio.errors import AudioError, BadSettings, Kind, MissingDecoder, RefusedRecording
from audioloom_audio.extraction import Extraction, extract
from audioloom_audio.features.engines import resolve_engine
from audioloom_audio.features.filters import mel_filters
from audioloom_audio.features.windows import Window
from audioloom_audio.recording import Flag, Recording, Summary
from audioloom_audio.settings import MfccSettings, RawFormat

__all__ = [
    "AudioError",
    "BadSettings",
    "DigestingReader",
    "Extraction",
    "Flag",
    "Kind",
    "MfccSettings",
    "MissingDecoder",
    "RawFormat",
    "Recording",
    "RefusedRecording",
    "Source",
    "Summary",
    "Window",
    "extract",
    "mel_filters",
    "resolve_engine",
]
