"""The specification of a run, which the launcher, the coordinator and the records share."""

import uuid

from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_stage.redaction import redact_words
from audioloom_storage import Location, exists, locate
from pydantic import BaseModel, Field

from audioloom_yarn_launcher.rendezvous.limits import FROZEN_S, Limits, Resources
from audioloom_yarn_launcher.rendezvous.messages import Plan
from audioloom_yarn_launcher.rendezvous.roles import Group, size_of
from audioloom_yarn_launcher.runs.attempts import AttemptStarted
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.runs.submissions import Localization, Submission

IN_CONTAINER = "the container's own"
"""The working folder of a command on a cluster: empty, but for the environment and --files."""


class RunSpec(BaseModel, frozen=True, extra="forbid", ser_json_inf_nan="strings"):
    """A run as one launch makes it; on YARN the coordinator gets it as a small JSON file.

    Args:
        named_by_hand: the name is not a digest of the command.
        command: program and arguments with their secrets, never shown; see `shown`.
        working_folder: base of relative paths in the command, or `IN_CONTAINER`.
        localization: the programs of the containers; None on one machine.
        wait: wait for another launcher that is at work on the run.
        take_over: the attempt whose launcher the user declares gone.
    """

    name: str
    named_by_hand: bool = True
    folder: str
    command: tuple[str, ...]
    working_folder: str = ""
    roles: tuple[Group, ...] = ()
    resources: dict[str, Resources] = Field(default_factory=dict)
    on: str = "local"
    launch: str = Field(default_factory=lambda: uuid.uuid4().hex)
    localization: Localization | None = None
    limits: Limits = Limits(registration_s=60.0)
    frozen_s: float = FROZEN_S
    max_restarts: int = 1
    wait: bool = True
    take_over: int | None = None

    @property
    def location(self) -> Location:
        """The run folder."""
        return locate(self.folder)

    @property
    def manifest(self) -> Location:
        """The manifest that the command may commit."""
        return self.location / MANIFEST_NAME

    @property
    def committed(self) -> bool:
        """Whether the run is committed: the presence of the manifest is success."""
        return exists(self.manifest)

    @property
    def shown(self) -> tuple[str, ...]:
        """The command as it is recorded and shown: secrets are masked."""
        return redact_words(self.command)

    @property
    def plan(self) -> Plan:
        """Make the workers' plan."""
        return Plan(self.roles, self.shown, self.folder, self.launch, self.frozen_s)

    def attempt(self, number: int) -> AttemptStarted:
        """Make the record that begins an attempt; the generation rises across launches too."""
        return AttemptStarted(
            attempt=number,
            generation=number - 1,
            launch=self.launch,
            started=now(),
            on=self.on,
            size=size_of(self.roles),
            command=self.shown,
            working_folder=self.working_folder,
            owner=this_process(),
            localization=self.localization,
            roles=self.roles,
        )

    def submission(self, application: str, *, after: int) -> Submission:
        """Make the record of an application that was submitted after attempt *after*."""
        return Submission(
            launch=self.launch,
            application=application,
            submitted=now(),
            after_attempt=after,
            size=size_of(self.roles),
            command=self.shown,
            by=this_process(),
            localization=self.localization,
        )
