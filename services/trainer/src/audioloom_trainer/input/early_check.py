"""Read files that are needed late through once, beside the training: rot is told soon."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from audioloom_trainer.input.cache import verify_in_place
from audioloom_trainer.shards.shard_set import FileRef


class BackgroundVerification:
    """Verifies files in a thread of its own, up to the first that is not as listed.

    Args:
        files: where they lie.
    """

    def __init__(self, files: Sequence[FileRef]) -> None:
        self.failure: Exception | None = None
        """What is wrong with one of them."""
        self._files = files
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="early check", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End after the file that is being read, which is not waited for long."""
        self._closing = True
        self._thread.join(timeout=5.0)

    def _run(self) -> None:
        for file in self._files:
            if self._closing:
                return
            try:
                verify_in_place(file)
            except Exception as error:  # noqa: BLE001  (whoever reads `failure` raises it)
                self.failure = error
                return
