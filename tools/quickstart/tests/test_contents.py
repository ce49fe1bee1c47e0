import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_quickstart.contents import entries, rows


def write_run(folder: Path, *listed: dict[str, Any]) -> str:
    lines = "".join(json.dumps(entry) + "\n" for entry in listed)
    (folder / "files-1.jsonl").write_text(lines)
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"files": {"name": "files-1.jsonl"}}))
    return str(manifest)


def test_only_the_role_asked_for_is_read(tmp_path: Path) -> None:
    """Rows come from every file of one role, and from no other."""
    pq.write_table(pa.table({"path": ["a", "b"], "class": ["x", "y"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"path": ["c"], "class": ["z"]}), tmp_path / "2.parquet")
    run = write_run(
        tmp_path,
        {"path": "1.parquet", "role": "ledger"},
        {"path": "2.parquet", "role": "ledger"},
        {"path": "3.parquet", "role": "features"},
    )
    assert ["a", "b", "c"] == [row["path"] for row in rows(run, "ledger", "path")]
    assert [tmp_path / "3.parquet"] == [entry["file"] for entry in entries(run, "features")]
