"""Read the headers of a few recordings, and say which settings fit them."""

import math
import pickle
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from operator import itemgetter

from audioloom_audio import AudioError, ExtractionSettings, Recording, extract
from audioloom_manifest.kinds import FeaturesManifest
from audioloom_storage import Location, StorageError

from audioloom_featurizer.containers.member import BadContainer
from audioloom_featurizer.extraction.feature import PRESETS
from audioloom_featurizer.extraction.members import Members
from audioloom_featurizer.inventory.parquet import Row, read_batches
from audioloom_featurizer.inventory.subset import smallest_digests
from audioloom_featurizer.sandbox.messages import CrashHistory, Heartbeat
from audioloom_featurizer.sandbox.supervisor import WorkerLimits, run_supervised

PROBED = 64
MUCH_PADDING = 0.5
WINDOW_SECONDS = (0.25, 0.5, 1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 300, 600)
"""Lengths of windows that are proposed."""


def probe(source: Location, inventory: Location, settings: ExtractionSettings) -> list[Recording]:
    """Read some headers, in a supervised process; those that tell no length are left out.

    The recordings are those whose paths have the smallest digests.
    """
    listed = chain.from_iterable(batch.to_pylist() for batch in read_batches(inventory))
    chosen = sorted(  # so that members of a container follow each other
        smallest_digests(((row["path"], row) for row in listed), PROBED), key=itemgetter(0)
    )
    rows = [row for _, row in chosen]
    task = pickle.dumps(partial(read_headers, source, settings))
    answer: list[Recording] = pickle.loads(  # noqa: S301 - from our own process
        run_supervised(task, WorkerLimits(seconds=60), pickle.dumps(rows))
    )
    return answer


def read_headers(
    source: Location,
    settings: ExtractionSettings,
    rows: Sequence[Row],
    history: CrashHistory | None = None,
    heartbeat: Heartbeat | None = None,
) -> list[Recording]:
    """Read the headers of these rows of an inventory; the task of a supervised process."""
    found = []
    with closing(Members(source, rows, heartbeat)) as members:
        unread = members.refused_unread((history or CrashHistory()).blamed)
        for number, row in enumerate(rows):
            members.heartbeat.start(number)
            with suppress(StorageError, BadContainer, AudioError):
                if number not in unread:
                    with members.open(row) as file, extract(file, settings, name=row["path"]) as it:
                        found.append(it.recording)
            members.heartbeat.finish()
    return [header for header in found if header.seconds is not None]


def fit(headers: Sequence[Recording], settings: ExtractionSettings) -> tuple[float, list[str]]:
    """Compare settings with recordings of known lengths: the share of padding, and advice."""
    lengths = sorted(header.seconds or 0.0 for header in headers)
    padding, advice = _padding(lengths, settings), []
    if padding > MUCH_PADDING:
        long = lengths[min(len(lengths) - 1, math.ceil(0.9 * len(lengths)))]
        shorter = [each for each in WINDOW_SECONDS if long <= each < settings.window_seconds]
        if shorter:
            advice.append(
                f"{padding:.0%} of the values would be padding: 90% of the recordings are at most"
                f" {long:.1f} s long (--window-seconds {shorter[0]:g})"
            )
    rates = Counter(header.sample_rate for header in headers)
    rate = rates.most_common(1)[0][0] if rates else settings.sample_rate
    if rate < settings.sample_rate:
        preset = [name for name, each in PRESETS.items() if each["sample_rate"] == rate]
        flag = f"--preset {preset[0]}" if preset else f"--sample-rate {rate}"
        advice.append(
            f"most recordings have {rate} Hz: {settings.sample_rate} Hz adds values, and nothing"
            f" to hear ({flag})"
        )
    return round(padding, 4), advice


def least_padding(manifest: FeaturesManifest) -> float:
    """The share of the values of a run that is padding, at least.

    The longest recordings hide some, because only the length of all together is known, and so do
    channels with windows of their own.
    """
    recipe, stats = manifest.recipe, manifest.stats
    parameters = recipe.feature.parameters
    step = float(str(parameters.get("window_seconds", 0)))
    if recipe.channels == "split":
        return 0.0
    if recipe.windows == "all":  # where windows overlap, they share what is recorded
        step = min(step, float(str(parameters.get("hop_seconds", step))))
    places = stats.windows * step
    return max(0.0, 1 - stats.audio_seconds / places) if places else 0.0


def _padding(lengths: Sequence[float], settings: ExtractionSettings) -> float:
    window = settings.window_seconds
    hop = settings.hop_samples / settings.sample_rate
    windows = recorded = 0.0
    for seconds in lengths:
        count = 1
        if settings.windows == "all":
            count = 1 + max(0, math.ceil((seconds - window) / hop))
        windows += count
        # All windows but the last are full.
        recorded += (count - 1) * window + min(window, max(0.0, seconds - (count - 1) * hop))
    return 1 - recorded / (windows * window) if windows else 0.0
