"""Runs as objects, a class for each kind; data are read through storage and checked."""

from collections.abc import Mapping, Sequence
from typing import Any

from audioloom_manifest.envelope import Envelope, FileEntry, Kind
from audioloom_manifest.file_list import read_file
from audioloom_manifest.kinds import ShardsManifest, TrainingRunManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_runs.pages.markup import element
from audioloom_runs.pages.parts import facts, scores_table
from audioloom_runs.progress import objects
from audioloom_stage.errors import BadData
from audioloom_stage.escapes import safe_text
from audioloom_stage.terminal import counted
from audioloom_storage import Location


class Run:
    """A committed run.

    Attributes:
        manifest: the manifest, a pydantic model of the run's kind.
        location: folder of the run.
        uri: that folder with its scheme: `hdfs://namenode/loom/shards/demo`.
        kind: recordings, features, shards or training-run.
        name: the name of the run.
    """

    def __init__(self, opened: Opened[Any]) -> None:
        self._opened = opened
        self.manifest: Any = opened.manifest
        self.location: Location = opened.folder
        self.uri: str = opened.folder.uri
        self.kind: Kind = opened.manifest.kind
        self.name: str = opened.manifest.name

    def files(self, *roles: str) -> list[FileEntry]:
        """Return the data files of the run, all or those of the named roles."""
        return self._opened.files(*roles)

    def read(self, entry: FileEntry) -> bytes:
        """Read a data file whole and check it.

        Raises:
            MissingFile, WrongChecksum: the file is missing, or differs from the manifest.
        """
        return read_file(self.location, entry)

    def __getattr__(self, name: str) -> Any:
        """Say which kinds of run have what a run of this kind lacks."""
        if name.startswith("_"):  # copies and notebooks ask for much, before there is a manifest
            raise AttributeError(name)
        having = [cls.__name__ for cls in _CLASSES.values() if name in vars(cls)]
        of_which = f": {name} is of {' and '.join(having)}" if having else ""
        raise AttributeError(f"a run of kind {self.kind} has no {name}{of_which}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.location}>"

    def _repr_html_(self) -> str:
        """Show the run in a notebook."""
        return element("div", facts(self._about().items()))

    def _about(self) -> dict[str, str]:
        return {
            self.kind: self.name,
            "location": safe_text(self.location),
            "created": f"{self.manifest.created:%Y-%m-%d %H:%M} UTC",
            "inputs": ", ".join(each.name for each in self.manifest.inputs),
        }

    def _one_file(self, role: str) -> FileEntry:
        entries = self.files(role)
        if len(entries) != 1:
            raise BadData(
                where=self._opened.location, expected=f"one {role} file", found=len(entries)
            )
        return entries[0]

    def _table(self, role: str, columns: Sequence[str] | None) -> Any:
        from audioloom.client.tables import read_table  # noqa: PLC0415 - pyarrow is an extra

        return read_table(self._opened, role, columns)


class Recordings(Run):
    """A list of recordings."""

    def frame(self, *columns: str) -> Any:
        """Return the inventory as a `pyarrow.Table`, one row a recording, all or some columns."""
        return self._table("inventory", columns or None)


class Features(Run):
    """Windows of features, and the ledger of refused recordings."""

    def frame(self, *columns: str) -> Any:
        """Return the windows as a `pyarrow.Table`, one row a window, all or some columns.

        The column of the feature itself is large, so it is read only if it is named, as `mfcc`.
        Every file is read whole and checked, one after the other.
        """
        from audioloom_manifest.parquet import WINDOW  # noqa: PLC0415 - pyarrow is an extra

        return self._table("features", columns or WINDOW.names)

    def ledger(self) -> Any:
        """Return the refused recordings as a `pyarrow.Table`, each with its class and message.

        The table has no rows if no recording was refused: there is no ledger file then.
        """
        from audioloom_manifest.parquet import LEDGER  # noqa: PLC0415 - pyarrow is an extra

        if not self.files("ledger"):
            return LEDGER.empty_table()
        return self._table("ledger", None)

    def _about(self) -> dict[str, str]:
        stats = self.manifest.stats
        windows = f"{stats.windows:,} of {counted(stats.extracted, 'recordings')}"
        return {**super()._about(), "windows": windows, "refused": f"{stats.refused:,}"}


class Shards(Run):
    """Records for training, by split."""

    manifest: ShardsManifest

    @property
    def labels(self) -> tuple[str, ...]:
        """The vocabulary: the label of number n is `labels[n]`."""
        return self.manifest.stats.labels

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits."""
        return tuple(self.manifest.stats.splits)

    def dataset(self, split: str) -> Any:
        """Return the records of a split as a `tf.data.Dataset` of (feature, label).

        The feature is float32 of the shape `manifest.stats.feature.shape`; the label is the int64
        number in `labels`, or the float32 number to learn. The order is that of the shards. Each
        shard is read whole and checked when it is reached.

        Raises:
            BadData: there is no such split, or the shards are not TFRecord.
        """
        from audioloom.client.dataset import dataset  # noqa: PLC0415 - TensorFlow is an extra

        return dataset(self._opened, split)

    def _about(self) -> dict[str, str]:
        splits = self.manifest.stats.splits.items()
        told = ", ".join(f"{name} {split.records:,}" for name, split in splits)
        return {**super()._about(), "records": told}


class Training(Run):
    """A trained model with its scores and history."""

    manifest: TrainingRunManifest

    @property
    def scores(self) -> Mapping[str, Mapping[str, float]]:
        """The scores of each split: loss, the metrics of the model, chance, majority."""
        return self.manifest.stats.scores

    def history(self) -> list[dict[str, float]]:
        """Return loss and metrics of each epoch; those of val have names with `val_`.

        Raises:
            BadData: the file holds no history.
        """
        entry = self._one_file("history")
        epochs = next(objects([self.read(entry)]), {}).get("epochs")
        if not isinstance(epochs, list):
            raise BadData(where=self.location / entry.path, expected="epochs", found="none")
        return epochs

    def model(self) -> Any:
        """Return the model as a compiled `keras.Model` with its weights.

        Raises:
            BadData: the model has parts of the user's own, is of `tf_keras`, or is damaged.
        """
        from audioloom.client.model import build  # noqa: PLC0415 - Keras is an extra

        model, weights = self._one_file("model"), self._one_file("weights")
        return build(self._opened, self.read(model), self.read(weights))

    def _about(self) -> dict[str, str]:
        recipe = self.manifest.recipe
        trained = (
            f"{counted(self.manifest.stats.steps, 'steps')}, {counted(recipe.epochs, 'epochs')}"
        )
        return {**super()._about(), "model": recipe.model.function, "trained": trained}

    def _repr_html_(self) -> str:
        return element("div", facts(self._about().items()), scores_table(self.scores))


_CLASSES: dict[Kind, type[Run]] = {
    "recordings": Recordings,
    "features": Features,
    "shards": Shards,
    "training-run": Training,
}


def open_run(uri: str | Location) -> Run:
    """Open a committed run, as `audioloom.open`."""
    opened: Opened[Envelope] = read_manifest(uri)
    return _CLASSES[opened.manifest.kind](opened)
