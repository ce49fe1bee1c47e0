"""Read a manifest: kind and version before anything else, then the whole, strictly."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload
from typing import Literal as L  # noqa: N817

from audioloom_storage import (
    IsAFolder,
    Location,
    NotAFile,
    NotFound,
    PermissionDenied,
    TooLarge,
    list_folder,
    locate,
    read_bytes,
)
from audioloom_storage.location import FILE_SCHEMES
from pydantic import ValidationError

from audioloom_manifest.canonical import parse_json
from audioloom_manifest.envelope import (
    MAJOR,
    MINORS,
    VERSION,
    Envelope,
    FileEntry,
    InputRef,
    Kind,
)
from audioloom_manifest.errors import (
    MalformedManifest,
    ManifestError,
    MissingManifest,
    UnknownKind,
    UnreadableManifest,
    UnsupportedVersion,
    WrongIdentity,
    WrongKind,
)
from audioloom_manifest.file_list import describe, parse_list, read_list
from audioloom_manifest.identity import run_identity
from audioloom_manifest.kinds import (
    MODELS,
    FeaturesManifest,
    Manifest,
    RecordingsManifest,
    ShardsManifest,
    TrainingRunManifest,
)
from audioloom_manifest.layout import FOLDERS, MANIFEST_NAME, root_of

MOST_MANIFEST_BYTES = 16 << 20

M_co = TypeVar("M_co", bound=Envelope, covariant=True)


@dataclass(frozen=True)
class Opened(Generic[M_co]):
    """A manifest that was read, and where it was read from."""

    manifest: M_co
    folder: Location
    sha256: str
    entries: tuple[FileEntry, ...] = field(repr=False, compare=False)
    """The list of files, which was read to recompute the identity: kept, for it may be long."""
    recipe: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """As it stands in the file, with fields that this release does not know."""

    @property
    def location(self) -> Location:
        """Where the manifest itself lies."""
        return self.folder / MANIFEST_NAME

    @property
    def root(self) -> Location:
        """The root that the run lies under."""
        return root_of(self.folder)

    def files(self, *roles: str) -> list[FileEntry]:
        """The data files, all or those of the named roles, in path order."""
        return [entry for entry in self.entries if not roles or entry.role in roles]

    def reference(self, root: Location) -> InputRef:
        """How a manifest under *root* names this one as its input."""
        location = self.folder.relative_to(root) if self.folder.is_under(root) else self.folder.uri
        return InputRef(
            kind=self.manifest.kind,
            name=self.manifest.name,
            location=location,
            identity=self.manifest.identity,
            sha256=self.sha256,
        )


@overload
def read_manifest(place: str | Location, expect: L["recordings"]) -> Opened[RecordingsManifest]: ...
@overload
def read_manifest(place: str | Location, expect: L["features"]) -> Opened[FeaturesManifest]: ...
@overload
def read_manifest(place: str | Location, expect: L["shards"]) -> Opened[ShardsManifest]: ...
@overload
def read_manifest(
    place: str | Location, expect: L["training-run"]
) -> Opened[TrainingRunManifest]: ...
@overload
def read_manifest(place: str | Location, expect: None = None) -> Opened[Manifest]: ...


def read_manifest(place: str | Location, expect: Kind | None = None) -> Opened[Any]:
    """Read the manifest at *place*: the file itself or the run folder that holds it.

    Its list of files is read with it, and its identity recomputed: what does not hold is no
    manifest to believe.

    Raises:
        MissingManifest, MalformedManifest, UnknownKind, WrongKind, UnsupportedVersion.
        WrongIdentity: it was changed or made up.
        MissingFile, WrongChecksum: of its list of files.
    """
    where = locate(place)
    if where.name != MANIFEST_NAME:
        where = where / MANIFEST_NAME
    try:
        data = read_bytes(where, limit=MOST_MANIFEST_BYTES)
    except (NotFound, IsAFolder, NotADirectoryError) as error:
        raise MissingManifest(
            where=where,
            expected=f"a {expect} manifest" if expect else "a manifest",
            found="nothing",
            hint="Check the path, or run the stage that writes it: without a manifest a run is"
            " not done.",
        ) from error
    except TooLarge as error:
        raise MalformedManifest(
            where=where, expected=f"at most {MOST_MANIFEST_BYTES} bytes", found=str(error)
        ) from error
    value, manifest = parse_manifest(data, where, expect)
    folder, listed = where.parent, read_list(where.parent, manifest.files)
    place = folder / manifest.files.name
    unknown = _unknown_fields(manifest.kind, int(manifest.version.partition(".")[2]))
    entries = tuple(parse_list(listed, manifest.files, where=place, unknown=unknown))
    if manifest.identity != (found := run_identity(value, listed)):
        raise WrongIdentity(
            where=where,
            expected=f"the identity of its recipe, inputs, files and statistics, {found}",
            found=manifest.identity,
            hint="It was changed after the commit, or made up: restore it with its list of files,"
            " or rerun the stage that wrote it under another name.",
        )
    sha256 = hashlib.sha256(data).hexdigest()
    return Opened(manifest, folder, sha256, entries, value["recipe"])


def parse_manifest(
    data: bytes, where: object, expect: Kind | None
) -> tuple[dict[str, Any], Envelope]:
    """The object and its model, checked as far as it goes without the list of files."""
    value = parse_json(data, where=where)
    kind, minor = _head(value, where)
    if expect is not None and kind != expect:
        raise WrongKind(
            where=where,
            expected=f"a {expect} manifest",
            found=f"a {kind} manifest",
            hint=f"A {expect} manifest lies under {FOLDERS[expect]}/ of a root.",
        )
    try:
        manifest = MODELS[kind].model_validate_json(data, extra=_unknown_fields(kind, minor))
    except ValidationError as error:
        found = describe(error)
    else:
        found = ", ".join((*_absent(manifest.to_json(), value), *_unknown_storage(manifest, minor)))
        if not found:
            return value, manifest
    raise MalformedManifest(
        where=where, expected=f"a {kind} manifest of version {value['version']}", found=found
    )


def _absent(whole: Mapping[str, Any], found: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The fields that a manifest has to have: those with a default in the models too."""
    for key, value in whole.items():
        if key not in found:
            yield f"no {above}{key}"
        elif isinstance(value, dict):
            yield from _absent(value, found[key], f"{above}{key}.")


def _unknown_storage(manifest: Envelope, minor: int) -> Iterator[str]:
    """The locations that only a later minor version may name."""
    places = {f"inputs.{n}.location": each.location for n, each in enumerate(manifest.inputs)}
    places["recipe.source"] = getattr(manifest.recipe, "source", "")
    for name, place in places.items() if not minor else ():
        if "://" in place and locate(place).scheme not in FILE_SCHEMES:
            yield f"{name}: a storage that version 1.0 does not know (found {place!r})"


def _unknown_fields(kind: Kind, minor: int) -> L["ignore", "forbid"]:
    """A newer minor adds what an old reader may pass over; within a version nothing is unknown."""
    return "ignore" if minor > MINORS[kind] else "forbid"


def _head(value: Any, where: object) -> tuple[Kind, int]:
    if not isinstance(value, dict) or not {"kind", "version"} <= value.keys():
        raise MalformedManifest(
            where=where,
            expected="an object with kind and version",
            found=f"the keys {sorted(value)[:10]}" if isinstance(value, dict) else repr(value),
            hint="This is not an audioloom manifest.",
        )
    kind, version = value["kind"], value["version"]
    if not isinstance(kind, str) or kind not in MODELS:
        raise UnknownKind(where=where, expected=f"one of {', '.join(MODELS)}", found=repr(kind))
    if not isinstance(version, str) or (parts := re.fullmatch(VERSION, version)) is None:
        raise MalformedManifest(
            where=where, expected="a version like 1.0", found=f"version {version!r}"
        )
    major, minor = map(int, parts.groups())
    if major != MAJOR:
        raise UnsupportedVersion(
            where=where,
            expected=f"version {MAJOR}.x of a {kind} manifest",
            found=f"version {version}",
            hint="A later release of this stage reads it; upgrade the stage."
            if major > MAJOR
            else "It was written by a draft that was never released: rerun its stage.",
        )
    return kind, minor


def resolve_input(reference: InputRef, root: Location) -> Location:
    """The folder of an input: below *root* when its location is relative."""
    place = reference.location
    return locate(place) if "://" in place else root / place


def list_manifests(
    root: Location, kind: Kind
) -> Iterator[tuple[Location, Opened[Manifest] | ManifestError | None]]:
    """Each run folder of a kind under *root*, with its manifest, what is wrong with it, or None.

    None is a run that has not been committed: in progress, or killed.
    """
    try:
        folders = [entry for entry in list_folder(root / FOLDERS[kind]) if entry.is_folder]
    except NotFound:
        return
    for entry in folders:
        yield entry.location, try_manifest(entry.location)


def try_manifest(folder: Location) -> Opened[Manifest] | ManifestError | None:
    """Read the manifest of a run folder; return what is wrong with it, or None without one."""
    try:
        return read_manifest(folder)
    except MissingManifest:
        return None
    except ManifestError as error:
        return error
    except (PermissionDenied, NotAFile) as error:  # the other runs of a root can be read
        return UnreadableManifest(
            where=error.where, expected="a file that this user may read", found=error.found
        )
