"""Commit a run: data first, list of files next, manifest last, by a step that cannot replace."""

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from audioloom_storage import (
    AlreadyExists,
    Location,
    Unavailable,
    UnknownOutcome,
    make_folder,
    publish,
)

from audioloom_manifest.canonical import canonical_bytes, digest
from audioloom_manifest.envelope import (
    Cost,
    Envelope,
    Execution,
    FileEntry,
    InputRef,
    Kind,
    Part,
    Producer,
    Recipe,
    version_of,
)
from audioloom_manifest.errors import MalformedManifest, MissingManifest, NameTaken
from audioloom_manifest.file_list import MOST_LIST_BYTES, files_list
from audioloom_manifest.identity import run_identity, run_name
from audioloom_manifest.kinds import MODELS
from audioloom_manifest.layout import MANIFEST_NAME, run_folder
from audioloom_manifest.reader import MOST_MANIFEST_BYTES, Opened, parse_manifest, read_manifest


@dataclass(frozen=True)
class Plan:
    """What a run is asked to do: enough to name it, before any work."""

    kind: Kind
    name: str
    folder: Location
    recipe: Recipe
    inputs: tuple[InputRef, ...]

    @classmethod
    def of(
        cls,
        kind: Kind,
        recipe: Recipe,
        inputs: Iterable[InputRef],
        root: Location,
        name: str | None,
    ) -> Self:
        """Plan a run below a root; its name is by default the digest of recipe and inputs."""
        references = tuple(inputs)
        name = name or run_name(kind, recipe, [each.identity for each in references])
        return cls(kind, name, run_folder(root, kind, name), recipe, references)

    @property
    def input_identities(self) -> list[str]:
        """The identities of the inputs, in order."""
        return [reference.identity for reference in self.inputs]

    @property
    def basis(self) -> str:
        """The digest of recipe and inputs, which distinguishes two runs with one name."""
        return run_name(self.kind, self.recipe, self.input_identities)


@dataclass(frozen=True)
class Attempt:
    """One try at a run."""

    producer: Producer
    host: str
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Filled in on the way: what this try did."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Filled in at the end: the wall time of the run by class."""
    cost: dict[str, Cost] = field(default_factory=dict)
    """What the run was predicted to take; what it took is filled in at the end."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    def execution(self) -> Execution:
        """The record of this try, ended now."""
        return Execution(
            attempt=self.id,
            started=self.started,
            finished=datetime.now(UTC).replace(microsecond=0),
            host=self.host,
            versions=self.versions,
            settings=self.settings,
            counts=self.counts,
            seconds=self.seconds,
            cost=self.cost,
        )


@dataclass(frozen=True)
class Committed:
    """The outcome of a commit: the manifest that stands, and whether this try put it there."""

    opened: Opened[Any]
    ours: bool


def find_committed(plan: Plan) -> Opened[Any] | None:
    """The committed run of this plan, or None when there is none yet.

    Raises:
        NameTaken: a run of that name has another recipe or other inputs.
    """
    try:
        opened = read_manifest(plan.folder)
    except MissingManifest:
        return None
    found = opened.manifest
    asked = plan.recipe.to_json()
    # Digests, for Python says that True is 1, and a model lacks what a later version added.
    if found.kind != plan.kind or digest(opened.recipe) != digest(asked):
        expected, difference = "the same recipe", _first_difference(asked, opened.recipe)
    elif [ref.identity for ref in found.inputs] != plan.input_identities:
        expected, difference = "the same inputs", "other inputs"
    else:
        return opened
    raise NameTaken(
        where=opened.location,
        expected=f"a run of {expected} as asked for",
        found=difference,
        hint="Nothing is overwritten: give another --name (or none), or use the recipe of"
        " that run.",
    )


def commit(plan: Plan, attempt: Attempt, files: Sequence[FileEntry], stats: Part) -> Committed:
    """Make the run real. Identical commands may race: one commits, the other finds it committed.

    Raises:
        MalformedManifest: readers do not accept the manifest, or the length of its list.
        NameTaken: another recipe was committed under this name meanwhile.
        UnknownOutcome: storage could not say; look before acting (the attempt id tells).
    """
    model, data = build(plan, attempt, files, stats)
    where, listed = plan.folder / MANIFEST_NAME, plan.folder / model.files.name
    written = canonical_bytes(model.to_json(), indent=2)
    _check_size(where, written, MOST_MANIFEST_BYTES, "Run again with fewer or shorter labels.")
    _check_size(listed, data, MOST_LIST_BYTES, "Run again with fewer and larger files.")
    value, manifest = parse_manifest(written, where, plan.kind)
    make_folder(plan.folder)
    with suppress(AlreadyExists):  # its name is its digest: the same list, from an earlier try
        publish(listed, data)
    try:
        publish(where, written)
    except (AlreadyExists, UnknownOutcome) as error:
        try:
            standing = find_committed(plan)
        except Unavailable:
            if isinstance(error, UnknownOutcome):
                raise error from None  # that nobody can look now does not say what became of it
            raise
        if standing is None:
            raise
        ours = standing.manifest.execution.attempt == attempt.id
        return Committed(standing, ours)
    # The list is not read again: a million files would be in memory twice.
    entries = tuple(sorted(files, key=lambda entry: entry.path))
    sha256 = hashlib.sha256(written).hexdigest()
    return Committed(Opened(manifest, plan.folder, sha256, entries, value["recipe"]), ours=True)


def build(
    plan: Plan, attempt: Attempt, files: Iterable[FileEntry], stats: Part
) -> tuple[Envelope, bytes]:
    """The manifest of a finished run and the list of its files, without writing them."""
    data, ref = files_list(files)
    model = MODELS[plan.kind].model_validate(
        {
            "kind": plan.kind,
            "version": version_of(plan.kind),
            "name": plan.name,
            "identity": f"sha256:{'0' * 64}",
            "created": datetime.now(UTC).replace(microsecond=0),
            "producer": attempt.producer,
            "inputs": plan.inputs,
            "recipe": plan.recipe,
            "execution": attempt.execution(),
            "files": ref,
            "stats": stats,
        }
    )
    return model.model_copy(update={"identity": run_identity(model.to_json(), data)}), data


def _check_size(where: Location, data: bytes, most: int, hint: str) -> None:
    if len(data) > most:
        raise MalformedManifest(
            where=where,
            expected=f"at most {most:,} bytes, as readers accept no more",
            found=f"{len(data):,}",
            hint=hint,
        )


def _first_difference(asked: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    for key in sorted(asked.keys() | found.keys()):
        if digest(asked.get(key)) != digest(found.get(key)):
            return f"{key} = {found.get(key)!r} there, {asked.get(key)!r} asked for"
    return "another kind"
