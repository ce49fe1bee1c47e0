r"""Check and convert columns of paths: relative to the source, and never outside it.

A path on a local disk may hold bytes that are not UTF-8, which Parquet cannot store. Each of these
bytes is written as `\xNN`, so that the recording is listed, refused and counted.
"""

import os
import re

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.envelope import MOST_PATH_BYTES
from audioloom_storage import Location

from audioloom_featurizer.errors import BadInventory

_UNSAFE = r"(?:^|/)\.{0,2}(?:/|$)"
_ESCAPED = re.compile(r"\\x[89a-f][0-9a-f]")
_ABSOLUTE = r"^(?:/|[A-Za-z][A-Za-z0-9+.-]*:/)"


def unsafe(paths: pa.StringArray) -> pa.BooleanArray:
    """Mark paths that do not lie below a folder: empty, absolute, or with `..`, `.`, `//`, NUL."""
    wrong = pc.or_(
        pc.match_substring_regex(paths, _UNSAFE),
        pc.or_(
            pc.match_substring(paths, "\0"),
            pc.greater(pc.binary_length(paths), MOST_PATH_BYTES),
        ),
    )
    return pc.fill_null(wrong, fill_value=True)


def relative(paths: pa.StringArray, source: Location) -> pa.StringArray:
    """Make paths and URIs below *source* relative to it; other paths do not change.

    A percent sign stands for itself, as in Hadoop.
    """
    whole = source.path.rstrip("/") + "/"
    starts = [whole, source.uri.rstrip("/") + "/", f"{source.scheme}://{source.authority}{whole}"]
    starts.append(f"{source.scheme}:{whole}")  # as Java writes file:/a
    for start in dict.fromkeys(starts):
        rest = pc.utf8_slice_codeunits(paths, len(start))
        paths = pc.if_else(pc.starts_with(paths, start), rest, paths)
    return paths


def absolute(paths: pa.StringArray) -> pa.BooleanArray:
    """Mark paths that start with a slash or with the scheme of a URI."""
    return pc.match_substring_regex(paths, _ABSOLUTE)


def file_of(source: Location, path: str, member: str | None) -> Location:
    """The file that holds a recording: itself, or the container, which may be the source.

    Raises:
        BadInventory: the path does not end with the member.
    """
    if member is None:
        return source.child(path)
    if path == member:
        return source
    if not path.endswith(f"/{member}"):
        expected = "a path that is the container's, a slash and the member"
        raise BadInventory(where=source, expected=expected, found=f"{path!r} with {member!r}")
    return source.child(path[: -len(member) - 1])


def as_text(path: str) -> str:
    """Escape the bytes of a path that are not UTF-8."""
    if path.isascii():
        return path
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def may_be_escaped(path: str) -> bool:
    """Whether `as_text` may have escaped this path; a real file name may look alike."""
    return _ESCAPED.search(path) is not None
