"""What the workers of a run are given on a cluster, as its records say it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Localization(BaseModel):
    """Where the programs came from.

    Args:
        launcher: URI of the archive of the launcher's own environment.
        environment: URI of the archive of the command's, if one was shipped.
        python: path of the Python that the nodes were to have, if one was named.
        image: the Docker image that the workers ran in, if one was named.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    launcher: str
    environment: str | None = None
    python: str | None = None
    image: str | None = None

    @property
    def archives(self) -> tuple[str, ...]:
        """What lies on storage for it."""
        return tuple(filter(None, (self.launcher, self.environment)))
