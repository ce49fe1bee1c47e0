"""What can go wrong in the launcher itself. What goes wrong in a worker is a `Cause`.

* StoreLost          (ConnectionError)   the other end of the gang's key-value store is gone
"""

from __future__ import annotations


class StoreLost(ConnectionError):
    """The store cannot be reached any more: whoever sees this is alone, and ends what it started."""
