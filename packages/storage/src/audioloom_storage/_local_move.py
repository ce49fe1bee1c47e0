"""The commit on file://: a move that cannot replace."""

from __future__ import annotations

import os

from audioloom_storage._local_errors import told
from audioloom_storage.location import Location


def move(temporary: Location, target: Location) -> None:
    with told(target):
        os.link(temporary.path, target.path, follow_symlinks=False)
        os.unlink(temporary.path)
