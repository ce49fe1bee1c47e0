"""Find the line in a program's output that names its error."""

import json
import re
from collections.abc import Iterable

MOST_TOLD = 300
_PYTHON = re.compile(
    r"(?:[A-Za-z_][\w]*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Lost)\b(?::|$)"
)
_FOUND = re.compile(r"  found +(.+)")
_BEGINS = "Traceback (most recent call last)"
_OTHERS = re.compile(
    r"\berror: |No space left on device|Cannot allocate memory|[Oo]ut of memory|OUT_OF_MEMORY"
    r"|std::bad_alloc|Segmentation fault|Fatal Python error|Check failed|command not found"
    r"|cannot open shared object file|No such file or directory|Permission denied"
)


def error_line(lines: Iterable[str]) -> str:
    """Find the first line that reports an error that ends a program; "" without such a line.

    The final error line of an AudioLoom stage takes precedence over all earlier errors. Of a Python
    traceback, the last line counts, which follows the indented lines.
    """
    first, said, in_trace, in_ours = "", "", False, False
    for line in lines:
        in_ours = line.startswith("error: ") or (in_ours and line.startswith("  "))
        if told := _of_ours(line):
            said = told
        elif in_ours and (found := _FOUND.fullmatch(line.rstrip())):
            said += f": {found[1]}"
        if line.startswith(_BEGINS):
            in_trace = True
        elif in_trace and line[:1].strip():
            in_trace = False
            first = first or line.strip()
        elif not first and line[:1] != "{" and (_PYTHON.match(line) or _OTHERS.search(line)):
            first = line.strip()
    return shortened(said or first)


def shortened(text: str) -> str:
    """Join a text to one line and cut it to `MOST_TOLD` characters."""
    text = " ".join(text.split())
    return text if len(text) <= MOST_TOLD else f"{text[: MOST_TOLD - 1]}…"


def _of_ours(line: str) -> str:
    if line.startswith("error: "):
        return line.removeprefix("error: ")
    if not line.startswith("{"):
        return ""
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(value, dict) or value.get("level") not in ("error", "critical"):
        return ""
    return ": ".join(str(value[key]) for key in ("event", "found") if value.get(key))
