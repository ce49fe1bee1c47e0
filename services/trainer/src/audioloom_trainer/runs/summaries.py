"""Scalars of a run for TensorBoard: `logs/tensorboard/train` and `…/val` in the run folder.

Storage cannot append, so each epoch is a separate file, written once. TensorBoard reads all files
of a folder in the order of their names. A failed write is logged and never ends a run.
"""

import secrets
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import structlog
import tensorflow as tf
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.file_list import file_sha256
from audioloom_storage import Location, NotFound, StorageError, publish, walk

from audioloom_trainer.runs.timeline import Interval

log = structlog.get_logger()

_FOLDER = "logs/tensorboard"
_VAL = "val_"


def write_summaries(
    run: Location, step: int, scores: Mapping[str, float], intervals: Iterable[Interval] = ()
) -> None:
    """Write a file for train, and one for val if val has scores, whose names start with `val_`.

    *step* counts finished steps; the intervals are those since the last write.
    """
    parts: dict[str, list[tuple[str, float, int]]] = {"train": [], "val": []}
    for name, value in scores.items():
        if name != "epoch":
            part = "val" if name.startswith(_VAL) else "train"
            parts[part].append((name.removeprefix(_VAL), value, step))
    for each in intervals:
        parts["train"].append(("steps_per_second", 1 / max(each.seconds, 1e-9), each.step))
        parts["train"].append(("input_wait", each.wait, each.step))
    for part, scalars in parts.items():
        name = f"events.out.tfevents.{time.time():.6f}.{secrets.token_hex(4)}"
        try:
            if scalars:
                publish(run / _FOLDER / part / name, _events(scalars))
        except (StorageError, OSError) as error:
            log.warning("the TensorBoard events could not be written", error=str(error))


def events_of(run: Location) -> list[FileEntry]:
    """Return the manifest's entries for a run's events files, also of earlier attempts."""
    found = []
    with suppress(NotFound):
        for entry in walk(run / _FOLDER):
            where = entry.location
            if where.name.startswith("events."):
                path, sha256 = where.relative_to(run), file_sha256(where)
                found.append(FileEntry(path=path, bytes=entry.size, sha256=sha256, role="events"))
    return found


def _events(scalars: Iterable[tuple[str, float, int]]) -> bytes:
    """Return an events file of names, values and steps; `tf.summary.scalar` needs TensorBoard."""
    metadata = tf.compat.v1.SummaryMetadata(
        plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
        data_class="DATA_CLASS_SCALAR",
    )
    with tempfile.TemporaryDirectory() as folder, tf.device("CPU"):
        writer = tf.summary.create_file_writer(folder)
        with writer.as_default():
            for tag, value, step in scalars:
                tf.summary.write(tag, tf.constant(value, tf.float32), step, metadata)
        writer.close()
        (file,) = Path(folder).iterdir()
        return file.read_bytes()
