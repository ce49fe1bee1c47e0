"""Extract the windows of a recording: decode, resample, cut, compute; one block at a time.

Memory holds a block of samples, the resampler's filter and one window for each signal, so a
recording of two hours needs as much memory as a recording of ten seconds.
"""

import math
from collections.abc import Generator, Iterator
from itertools import chain
from typing import Self

import numpy as np

from audioloom_audio import signals
from audioloom_audio.decoding.decoder import open_decoder
from audioloom_audio.decoding.source import Source
from audioloom_audio.errors import RefusedRecording
from audioloom_audio.features.engines import native
from audioloom_audio.recording import Recording, Summary
from audioloom_audio.settings import ExtractionSettings, resolve_engine
from audioloom_audio.signals import Samples, Signals, signal_numbers
from audioloom_audio.windows import Window, Windower


class Extraction(Iterator[Window]):
    """An iterator over the windows of one recording; made by `extract`.

    As a context manager it frees the decoder on exit, even before the last window.
    """

    def __init__(self, source: Source, settings: ExtractionSettings, name: str) -> None:
        self._name = name
        self._settings = settings
        self._decoder = open_decoder(source, name, settings.raw)
        try:
            self._numbers = signal_numbers(
                settings.channels, self._decoder.recording.channels, name
            )
            rate = self._decoder.recording.sample_rate
            self._windowers = [Windower(number, rate, settings, name) for number in self._numbers]
        except BaseException:
            self._decoder.close()
            raise
        self._samples = _samples_for(settings, self._decoder.recording.channels)
        self._frames_read = 0
        self._windows = 0
        self._audible = 0
        self._peak = 0.0
        self._complete = False
        self._stream = self._run()

    @property
    def recording(self) -> Recording:
        """The facts of the header."""
        return self._decoder.recording

    @property
    def summary(self) -> Summary:
        """The facts so far; after the last window, the facts of the whole extraction."""
        recording = self._decoder.recording
        flags = recording.flags
        ended_early = self._complete and self._frames_read < (recording.frames or 0)
        if ended_early and "truncated" not in flags:
            flags = (*flags, "truncated")
        if not self._complete and recording.frames is None:
            flags = (*flags, "length_unknown")
        if self._peak > 1:
            flags = (*flags, "over_full_scale")
        if self._windows and not self._audible:
            flags = (*flags, "silent")
        return Summary(
            recording=recording,
            frames_read=self._frames_read,
            windows=self._windows,
            complete=self._complete,
            peak=self._peak,
            flags=tuple(sorted(flags)),
        )

    def __next__(self) -> Window:
        window = next(self._stream)
        self._windows += 1
        self._audible += "silent" not in window.flags
        return window

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the iteration and free the decoder; the source stays open."""
        self._stream.close()
        self._free()

    def _run(self) -> Generator[Window]:
        try:
            for signals in self._decoder.blocks(self._numbers, self._samples):
                self._inspect(signals)
                self._frames_read += len(signals[0])
                # All signals of a block have equal length, so they complete the same windows: zip
                # takes the windows in turn, and strict drains every generator.
                pairs = zip(self._windowers, signals, strict=True)
                streams = [windower.push(samples) for windower, samples in pairs]
                yield from chain.from_iterable(zip(*streams, strict=True))
                if all(windower.satisfied for windower in self._windowers):
                    return
            self._complete = True
            if not self._frames_read:
                raise RefusedRecording("empty", self._name, "samples", "a header and no samples")
            last = [windower.finish() for windower in self._windowers]
            yield from chain.from_iterable(zip(*last, strict=True))
        finally:
            self._free()

    def _free(self) -> None:
        self._decoder.close()
        for windower in self._windowers:
            windower.close()

    def _inspect(self, signals: Signals) -> None:
        for samples in signals:
            peak = self._samples.peak(samples)
            if not math.isfinite(peak):
                first = int(np.flatnonzero(~np.isfinite(samples))[0]) + self._frames_read
                at = first / self._decoder.recording.sample_rate
                raise RefusedRecording(
                    "non_finite",
                    self._name,
                    "finite samples",
                    f"NaN or infinity in sample {first} (at {at:.3f} s)",
                )
            self._peak = max(self._peak, peak)


def extract(
    source: Source, settings: ExtractionSettings | None = None, *, name: str = ""
) -> Extraction:
    """Open the recording in *source* and iterate over its windows.

    The header is read at once, samples when a window is requested. Windows come in the order
    (window, channel). The source is read from its first byte, belongs to the extraction until the
    extraction ends, and is not closed. A refusal can come after some windows (NaN in minute 50):
    the caller decides whether to keep these windows.

    For a checksum, wrap the source in a `DigestingReader`. The *name* is for errors; its extension
    is compared with the content.

    Raises:
        RefusedRecording, MissingDecoder: see `audioloom_audio.errors`; raised here or during the
            iteration. Errors of *source* pass through.
    """
    return Extraction(source, settings or ExtractionSettings(), name)


def _samples_for(settings: ExtractionSettings, channels: int) -> Samples:
    """The `Samples` for recordings with that many channels.

    It is compiled if the engine is compiled, except for the mean of more than two channels.
    """
    mixes_many = settings.channels == "mix" and channels > 2  # noqa: PLR2004
    if resolve_engine(settings) != "native" or mixes_many:
        return signals
    compiled: Samples = native()
    return compiled
