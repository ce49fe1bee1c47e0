"""The JSON Schemas of the contract, generated from the models and compared with the frozen files.

`python -m audioloom_manifest.schemas FOLDER` writes them, but never anew what is frozen.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.envelope import FILES_VERSION, FileEntry, Kind, version_of
from audioloom_manifest.kinds import MODELS

CONTRACT_FOLDERS: dict[Kind, str] = {
    "recordings": "1-recordings",
    "features": "2-features",
    "shards": "3-shards",
    "training-run": "4-training-run",
}
FROZEN = "FROZEN.sha256"
"""The file beside the schemas that lists what was released, with its digest."""


def json_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a manifest kind, as it is written."""
    schema = MODELS[kind].model_json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"audioloom:{kind}:{version_of(kind)}",
        **schema,
    }


def files_schema() -> dict[str, Any]:
    """The JSON Schema of one line of a files list."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"audioloom:file-entry:{FILES_VERSION}",
        **FileEntry.model_json_schema(mode="serialization"),
    }


def schema_files() -> dict[str, bytes]:
    """Path below `shared/contracts` and bytes of the schema files of the newest versions."""
    files = {
        f"{folder}/v{version_of(kind)}.schema.json": canonical_bytes(json_schema(kind), indent=2)
        for kind, folder in CONTRACT_FOLDERS.items()
    }
    return {
        **files,
        f"files-list.v{FILES_VERSION}.schema.json": canonical_bytes(files_schema(), indent=2),
    }


def main(arguments: list[str]) -> None:
    """Write the schema files below the folder given, unless one of them is frozen as another."""
    base, files = Path(arguments[0]), schema_files()
    frozen = (base / FROZEN).read_text(encoding="utf-8")
    for path, data in files.items():
        if f"  {path}\n" in frozen and f"{sha256(data).hexdigest()}  {path}\n" not in frozen:
            sys.exit(
                f"{base / path}: expected the models to say what is frozen, found another schema:"
                " give what is new to a later minor version (envelope.MINORS)"
            )
    for path, data in files.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1:])
