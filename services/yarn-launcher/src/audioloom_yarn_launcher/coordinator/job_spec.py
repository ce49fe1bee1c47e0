"""What the launcher hands to the coordinator in the application master: one small JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from audioloom_storage import locate
from pydantic import BaseModel, ConfigDict

from audioloom_yarn_launcher.coordinator.timeouts import Limits
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.runs.lease import Launch
from audioloom_yarn_launcher.runs.localization import Localization
from audioloom_yarn_launcher.runs.request import Request


class Job(BaseModel):
    """A run that is to be coordinated; see `RunSettings` and `Launch` for what the fields mean."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    launch: str
    name: str
    named_by_hand: bool
    folder: str
    command: tuple[str, ...]
    working_folder: str
    workers: int
    roles: tuple[Group, ...]
    limits: Limits
    frozen_s: float
    localization: Localization | None
    max_restarts: int
    wait: bool
    take_over: int | None

    @classmethod
    def of(
        cls,
        life: Launch,
        *,
        limits: Limits,
        frozen_s: float,
        max_restarts: int,
        wait: bool,
        take_over: int | None,
    ) -> Self:
        """The job that a launch is."""
        request = life.request
        return cls(
            launch=life.id,
            name=request.name,
            named_by_hand=request.named_by_hand,
            folder=request.folder.uri,
            command=request.command,
            working_folder=request.working_folder,
            workers=life.size,
            roles=request.roles,
            limits=limits,
            frozen_s=frozen_s,
            localization=life.localization,
            max_restarts=max_restarts,
            wait=wait,
            take_over=take_over,
        )

    @property
    def life(self) -> Launch:
        """The launch, as its coordinator lives it."""
        request = Request(
            name=self.name,
            named_by_hand=self.named_by_hand,
            folder=locate(self.folder),
            command=self.command,
            working_folder=self.working_folder,
            roles=self.roles,
        )
        return Launch(
            request,
            size=self.workers,
            on="yarn",
            id=self.launch,
            localization=self.localization,
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """The job in a file."""
        return cls.model_validate_json(path.read_bytes())
