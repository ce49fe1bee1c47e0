"""Write the JSON Schemas of the contract (draft 2020-12): `python write_schemas.py FOLDER`.

They are generated from the models of audioloom-manifest. What is frozen is never written anew.
"""

import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.envelope import FILES_VERSION, FileEntry, Part, version_of
from audioloom_manifest.kinds import MODELS

FROZEN = "FROZEN.sha256"
"""The file beside the schemas that lists what was released, with its digest."""


def schema_files() -> dict[str, bytes]:
    """Path below `shared/contracts` and bytes of the schemas of the newest versions."""
    models: list[tuple[str, str, type[Part]]] = [
        ("file-entry", FILES_VERSION, FileEntry),
        *((kind, version_of(kind), model) for kind, model in MODELS.items()),
    ]
    found = {}
    for name, version, model in models:
        schema: dict[str, Any] = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"audioloom:{name}:{version}",
            **model.model_json_schema(mode="serialization"),
        }
        for each in (schema, *schema.get("$defs", {}).values()):
            later = [key for key, field in each["properties"].items() if "since" in field]
            each["required"] = [key for key in each["required"] if key not in later]
        found[f"schemas/{name}-{version}.schema.json"] = canonical_bytes(schema, indent=2)
    return found


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
