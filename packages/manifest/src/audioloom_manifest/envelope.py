"""What every manifest has, whatever its kind."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from audioloom_manifest.fields import (
    Count,
    Identity,
    InputPlace,
    LabelCounts,
    Moment,
    Name,
    Parameters,
    Part,
    Positive,
    RelativePath,
    Sha256,
    Text,
    Word,
)

Kind = Literal["recordings", "features", "shards", "training-run"]

FOLDERS: dict[Kind, str] = {
    "recordings": "recordings",
    "features": "features",
    "shards": "shards",
    "training-run": "runs",
}
"""The folder of each kind below a root, in pipeline order."""

DERIVED: dict[Kind, frozenset[str]] = {
    "training-run": frozenset({"events", "keras", "report", "saved-model"}),
}
"""Roles of files that show the result again for people or other programs: not in the identity."""

MAJOR = 1
MINORS: dict[Kind, int] = {"recordings": 0, "features": 0, "shards": 1, "training-run": 0}
"""The newest minor version of each kind: the one that is written."""
FILES_VERSION = "1.0"
"""Of the lines of a files list, whichever kind it belongs to."""
MANIFEST_NAME = "manifest.json"


def version_of(kind: Kind) -> str:
    """The version in which manifests of a kind are written."""
    return f"{MAJOR}.{MINORS[kind]}"


class Producer(Part):
    """The program that wrote the manifest."""

    stage: Word
    version: Word


class InputRef(Part):
    """A manifest that was read to make this one."""

    kind: Kind
    name: Name
    location: InputPlace = Field(
        description="the folder: relative to the root when under the same root, else a URI"
    )
    identity: Identity
    sha256: Sha256 = Field(description="of the manifest's bytes as they were read")


class FilesRef(Part):
    """The list of data files beside the manifest."""

    name: RelativePath
    sha256: Sha256
    count: Count
    bytes: Count = Field(description="size of the list itself")


class Unpacked(Part):
    """What a compressed file is when it is unpacked: a reader unpacks no more than this."""

    bytes: Count
    sha256: Sha256


class FileEntry(Part):
    """One data file: one line of the files list."""

    path: RelativePath
    bytes: Count
    sha256: Sha256
    role: Word
    records: Count | None = None
    split: Name | None = None
    shard: Count | None = None
    labels: LabelCounts | None = Field(default=None, description="records of each label")
    unpacked: Unpacked | None = Field(
        default=None,
        description="of a file that is compressed as a whole; bytes and sha256 are as it lies",
    )


class Execution(Part):
    """How the run was made. Nothing here changes the result, so nothing here is in the identity."""

    attempt: Word = Field(description="unique for each try: tells whether a commit was ours")
    started: Moment
    finished: Moment
    host: Text = ""
    versions: dict[Word, Text] = Field(default_factory=dict)
    settings: Parameters = Field(default_factory=dict)
    counts: dict[Word, Count] = Field(
        default_factory=dict,
        description="what this try did: units_placed, and of these units_local, where blocks lie",
    )


class Recipe(Part):
    """The settings that change the result, plus the stage's algorithm revision.

    Fields of version 1.0 have no default. A field that a later minor version adds has the default
    that means "as before": it stays out of the digest, so old runs keep their names.
    """

    algorithm: Positive


class Envelope(Part):
    """The fields that all kinds share; each kind adds its recipe and stats."""

    kind: Kind
    version: Annotated[str, Field(pattern=r"^[0-9]{1,4}\.[0-9]{1,4}$")]
    name: Name
    identity: Identity
    created: Moment
    producer: Producer
    inputs: tuple[InputRef, ...] = Field(max_length=10_000)
    recipe: Recipe
    execution: Execution
    files: FilesRef
    stats: Part

    def to_json(self) -> dict[str, Any]:
        """The manifest as a JSON object."""
        return self.model_dump(mode="json")
