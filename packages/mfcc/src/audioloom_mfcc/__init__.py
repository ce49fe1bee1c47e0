"""Recordings to MFCC windows, as a stream in constant memory.

`extract` does it, `MfccSettings` says what, `Window` is what comes out, `probe` reads a header
only, `DigestingReader` takes the file's checksum on the way. Every refusal is a
`RefusedRecording` with a stable ``kind``.
"""

from audioloom_mfcc.digest import DigestingReader
from audioloom_mfcc.engines import settle
from audioloom_mfcc.errors import (
    BadChannels,
    BadHeader,
    BadRate,
    BadSettings,
    DamagedRecording,
    EmptyRecording,
    Kind,
    MfccError,
    MissingDecoder,
    NonFinite,
    NotAudio,
    OutOfRange,
    RefusedRecording,
    UnsupportedCodec,
)
from audioloom_mfcc.extract import Extraction, extract, probe
from audioloom_mfcc.recording import Flag, Recording, Summary
from audioloom_mfcc.settings import MfccSettings, RawFormat
from audioloom_mfcc.source import Source
from audioloom_mfcc.tables import mel_filters
from audioloom_mfcc.windows import Window

__all__ = [
    "BadChannels",
    "BadHeader",
    "BadRate",
    "BadSettings",
    "DamagedRecording",
    "DigestingReader",
    "EmptyRecording",
    "Extraction",
    "Flag",
    "Kind",
    "MfccError",
    "MfccSettings",
    "MissingDecoder",
    "NonFinite",
    "NotAudio",
    "OutOfRange",
    "RawFormat",
    "Recording",
    "RefusedRecording",
    "Source",
    "Summary",
    "UnsupportedCodec",
    "Window",
    "extract",
    "mel_filters",
    "probe",
    "settle",
]
