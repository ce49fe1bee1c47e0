"""`python -m audioloom_quickstart quickstart|realdata|compare [--short] [--folder FOLDER]`.

Exit code 0: what has to hold holds, or there was nothing to run it on and nobody counts on it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from audioloom_quickstart.compare import compare
from audioloom_quickstart.programs import StepFailedError, programs_from_environment
from audioloom_quickstart.quickstart import quickstart
from audioloom_quickstart.realdata import SkippedError, realdata

NAME_TAKEN = 73
FOLDERS = {"quickstart": "quickstart", "realdata": "realdata", "compare": "quickstart"}


def main() -> int:
    """Run what was asked for; the exit code says whether it held."""
    parser = argparse.ArgumentParser(prog="audioloom_quickstart", description=__doc__)
    parser.add_argument("what", choices=[*FOLDERS])
    parser.add_argument("--short", action="store_true", help="a small set in a temporary folder")
    parser.add_argument("--folder", type=Path, help="where everything is written")
    asked = parser.parse_args()
    folder = asked.folder or (
        Path(tempfile.mkdtemp(prefix="audioloom-")) if asked.short else Path(FOLDERS[asked.what])
    )
    try:
        programs = programs_from_environment()
        if asked.what == "quickstart":
            text = quickstart(programs, folder.resolve(), short=asked.short)
        elif asked.what == "realdata":
            text = realdata(programs, folder.resolve())
        else:
            text = compare(programs, folder.resolve())
        print(f"\n{text}")
    except SkippedError as reason:
        print(f"\nSkipped: {reason}")
    except StepFailedError as error:
        print(f"\n{error}", file=sys.stderr)
        if error.exit_code == NAME_TAKEN:
            print(f"Remove {folder}, which another run has left, to begin anew.", file=sys.stderr)
        return 1
    finally:
        if asked.short and not asked.folder:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
