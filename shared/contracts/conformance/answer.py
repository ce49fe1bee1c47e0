"""Answer the cases beside this file with the reader of this project: `python answer.py`.

Requests are read from stdin, a JSON object a line, and an answer to each is written to stdout, as
`README.md` says.
"""

import json
import sys
from pathlib import Path
from typing import Any

from audioloom_manifest.canonical import digest, parse_json
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.file_list import check_files
from audioloom_manifest.reader import read_manifest


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What the reader makes of a request."""
    path = Path(request["path"])
    try:
        if request["do"] == "digest":
            return {"sha256": digest(parse_json(path.read_bytes(), where=path))}
        opened = read_manifest(str(path), request.get("expect"))
        for problem in check_files(opened.folder, opened.files()):
            raise problem
    except ManifestError as error:
        return {"error": type(error).__name__}
    files = [entry.model_dump(mode="json", exclude_none=True) for entry in opened.files()]
    return {"manifest": opened.manifest.to_json(), "files": files}


def main() -> None:
    """Answer requests until there are no more."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
