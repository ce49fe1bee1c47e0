"""Facts for a report: when, where and with what a run was made, and of which recordings."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

from audioloom_manifest.envelope import InputRef
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.kinds import FeaturesManifest
from audioloom_manifest.publication import Attempt
from audioloom_manifest.reader import read_manifest, resolve_input
from audioloom_stage.escapes import safe_text
from audioloom_storage import Location, StorageError

_LIBRARIES = ("python", "tensorflow", "keras", "tf_keras")
_MOST_INPUTS = 12


def provenance(
    attempt: Attempt, seconds: float, inputs: tuple[InputRef, ...], root: Location
) -> Iterator[tuple[str, str]]:
    """Yield named facts; an input that cannot be read now is named, and not followed further.

    *seconds* are the wall time of all attempts; locations of inputs are relative to *root*.
    """
    libraries = (f"{n} {v}" for n, v in attempt.versions.items() if n.lower() in _LIBRARIES)
    yield "date", f"{attempt.started:%Y-%m-%d %H:%M} UTC"
    yield "duration", f"{timedelta(seconds=round(seconds))}" if seconds else ""
    yield "host", attempt.host
    yield "made by", f"audioloom-{attempt.producer.stage} {attempt.producer.version}"
    yield "versions", ", ".join(libraries)
    names = list[str]()
    left = [(reference, root) for reference in inputs]
    while left and len(names) < _MOST_INPUTS:
        reference, above = left.pop(0)
        names.append(f"{reference.kind} {reference.name}")
        with suppress(ManifestError, StorageError):
            found = read_manifest(resolve_input(reference, above))
            left += [(each, found.root) for each in found.manifest.inputs]
            if isinstance(found.manifest, FeaturesManifest):
                stats = found.manifest.stats
                names[-1] += f" (recordings used: {stats.extracted:,}, refused: {stats.refused:,})"
    yield "made from", safe_text(", ".join(names) + (", …" if left else ""))
