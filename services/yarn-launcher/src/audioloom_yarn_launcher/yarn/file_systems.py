"""Which HDFS a run uses, so that its containers get tokens for each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAMED = re.compile(r"""(?<!\w)hdfs://([^\s/@,;"'()\[\]{}<>|\\]+)""", re.IGNORECASE)


def systems_of(given: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Each once, as skein wants them; the default one, which is not named, needs no naming.

    Args:
        given: that the user names.
        texts: locations, variables and words of the command, which may name some.
    """
    named = [match[1] for text in (*given, *texts) for match in _NAMED.finditer(text)]
    return tuple(sorted({f"hdfs://{each.rstrip(':.')}" for each in named} - {"hdfs://"}))
