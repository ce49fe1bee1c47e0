"""Features from the data that a Python program holds: a DataFrame of Spark, or Arrow's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest.kinds import FeaturesManifest
from audioloom_manifest.reader import Opened
from audioloom_manifest.tables import Table, open_table
from audioloom_storage import Location, locate

from audioloom_featurizer.commands.import_table import commit_table
from audioloom_featurizer.errors import BadWindows, InvalidOption
from audioloom_featurizer.scratch import scratch_folder
from audioloom_featurizer.settings import ImportSettings
from audioloom_featurizer.tables.columns import window_columns

_SHOWN = "the DataFrame"


def write_features(
    df: Any,
    root: str | PathLike[str],
    *,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
    shape: tuple[int, int] | None = None,
    feature_name: str = "features",
    dtype: Literal["float32", "float16"] = "float32",
    sample_rate: int = 16000,
    window_seconds: float | None = None,
    unlabelled: Literal["keep", "refuse", "drop"] = "keep",
) -> Opened[FeaturesManifest]:
    """Commit the windows of a DataFrame as features; return the manifest.

    Equal windows are found committed, in whatever order they come. The columns `values` and `path`
    are required, and any of `label`, `target`, `group`, `window`, `channel`, `length` and the other
    columns of a features file is taken.

    Args:
        df: A DataFrame of Spark, a table of Arrow, or an iterable of its record batches.
        root: Root folder of all runs. Spark's executors must reach it.
        name: Name of the run. Default: a digest of the recipe, which has the digest of the windows.
        columns: Columns with other names, such as `{"values": "embedding", "path": "id"}`.
        shape: Coefficients and frames of values that are flat lists or binary.
        feature_name: Name of the feature.
        dtype: Type of the values.
        sample_rate: Rate of the recordings, in Hz.
        window_seconds: Length of a window, if known.
        unlabelled: What to do with windows without label and target.

    Raises:
        NoWindows, BadTable, BadWindows, Unlabelled: The DataFrame cannot be used.
        NameTaken: Other features have the name.
    """
    settings = ImportSettings.model_validate(
        {
            "table": _SHOWN,
            "root": str(root),
            "name": name,
            "columns": dict(columns or {}),
            "shape": shape and "x".join(map(str, shape)),
            "feature_name": feature_name,
            "dtype": dtype,
            "sample_rate": sample_rate,
            "window_seconds": window_seconds,
            "unlabelled": unlabelled,
        }
    )
    session = getattr(df, "sparkSession", None)
    # A session of Spark Connect does not say where it runs: elsewhere.
    context = getattr(session, "sparkContext", None)
    master = "" if session is None else getattr(context, "master", "elsewhere")
    with scratch_folder(master, locate(settings.root)) as scratch:
        folder = scratch / "windows"
        if session is None:
            _write_arrow(df, folder)
        else:
            _write_spark(df, folder, settings)
        opened, _, _ = commit_table(open_table(folder), settings)
        return opened


def _write_spark(df: Any, folder: Location, settings: ImportSettings) -> None:
    """Let Spark's tasks write the columns that are needed to Parquet files."""
    table = Table(_SHOWN, (), df.columns)
    columns = window_columns(table, settings.columns, settings.feature_name)
    names = dict.fromkeys(columns.values())
    quoted = [f"`{name.replace('`', '``')}`" for name in names]
    try:
        df.select(*quoted).write.parquet(folder.uri)
    except Exception as error:
        raise BadWindows(
            "Spark could not write the windows",
            where=_SHOWN,
            found=f"{error!s:.500}",
        ) from error


def _write_arrow(data: Any, folder: Location) -> None:
    batches = _batches(data)
    first = next(batches, data if isinstance(data, pa.Table) else pa.table({}))
    made = Path(folder.path)
    made.mkdir()
    with pq.ParquetWriter(made / "0.parquet", first.schema) as writer:
        writer.write(first)
        for batch in batches:
            writer.write_batch(batch)


def _batches(data: Any) -> Iterator[pa.RecordBatch]:
    for batch in data.to_batches() if isinstance(data, pa.Table) else data:
        if not isinstance(batch, pa.RecordBatch):
            raise InvalidOption(
                where=_SHOWN,
                expected="a DataFrame of Spark, a table of Arrow or its record batches",
                found=type(batch).__name__,
            )
        yield batch
