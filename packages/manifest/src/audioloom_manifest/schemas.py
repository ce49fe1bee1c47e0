"""The JSON Schemas of the contract, generated from the models and compared with the frozen files.

`python -m audioloom_manifest.schemas FOLDER` writes them; a released file is never written again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.envelope import VERSION, FileEntry
from audioloom_manifest.kinds import MODELS

CONTRACT_FOLDERS = {
    "recordings": "1-recordings",
    "features": "2-features",
    "shards": "3-shards",
    "training-run": "4-training-run",
}


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a manifest kind, as it is written."""
    schema = MODELS[kind].model_json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"audioloom:{kind}:{VERSION}",
        **schema,
    }


def files_schema() -> dict[str, Any]:
    """The JSON Schema of one line of a files list."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"audioloom:file-entry:{VERSION}",
        **FileEntry.model_json_schema(mode="serialization"),
    }


def schema_files() -> dict[str, bytes]:
    """Path below `shared/contracts` and bytes of every schema file of this version."""
    files = {
        f"{folder}/v{VERSION}.schema.json": canonical_bytes(json_schema(kind), indent=2)
        for kind, folder in CONTRACT_FOLDERS.items()
    }
    return {
        **files,
        f"files-list.v{VERSION}.schema.json": canonical_bytes(files_schema(), indent=2),
    }


def main(arguments: list[str]) -> None:
    """Write every schema file below the folder given."""
    base = Path(arguments[0])
    for path, data in schema_files().items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1:])
