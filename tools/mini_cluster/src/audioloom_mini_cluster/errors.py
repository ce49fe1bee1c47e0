"""What can go wrong.

MiniClusterError
├── JarsMissing     the daemons' jars cannot be had, or are not what was pinned
├── JavaMissing     there is no Java that Hadoop runs on
└── NotReady        a daemon ended, or did not come up in time
"""

from __future__ import annotations


class MiniClusterError(Exception):
    """The cluster cannot be had; the text says what to do."""

    exit_code = 70


class JarsMissing(MiniClusterError):
    """The jars cannot be fetched, or are not those that were pinned."""

    exit_code = 69


class JavaMissing(MiniClusterError):
    """No Java, or one that Hadoop does not run on."""

    exit_code = 78


class NotReady(MiniClusterError):
    """A daemon ended before all were ready, or the time was up."""

    exit_code = 75
