"""Parquet files of a run as one table. Needs the extra `audioloom[tables]`."""

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest.file_list import read_file
from audioloom_manifest.reader import Opened
from audioloom_stage.errors import BadData


def read_table(opened: Opened[Any], role: str, columns: Sequence[str] | None) -> pa.Table:
    """Read the files of a role, each whole and checked; None reads all columns.

    Raises:
        BadData: a file lacks one of the columns, is no Parquet, or there is no file of the role.
    """
    parts = []
    for entry in opened.files(role):
        where = opened.folder / entry.path
        data = io.BytesIO(read_file(opened.folder, entry))
        try:
            names = pq.read_schema(data).names
            if missing := sorted(set(columns or ()) - set(names)):
                raise BadData(
                    where=where, expected=f"columns among {', '.join(names)}", found=missing[0]
                )
            parts.append(pq.read_table(data, columns=[*columns] if columns else None))
        except pa.ArrowException as error:
            raise BadData(where=where, expected="a Parquet file", found=error) from None
    if not parts:
        raise BadData(where=opened.location, expected=f"a file of role {role}", found="none")
    return pa.concat_tables(parts)
