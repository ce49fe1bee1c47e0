"""The errors of reading, checking and publishing manifests.

* ManifestError
  * MissingManifest       the location holds no manifest (also a FileNotFoundError)
  * MalformedManifest     not JSON, or a field is missing, of another type or out of bounds
  * UnknownKind           a kind that this release does not know
  * WrongKind             a valid manifest of another kind than the one asked for
  * UnsupportedVersion    another major version: reading it would be guessing
  * WrongChecksum         bytes differ from what the manifest (or its files list) says
  * WrongIdentity         the identity does not match the recipe, inputs and files
  * MissingFile           a file that the manifest names does not exist
  * NameTaken             a run of that name was made by another recipe or from other inputs
* RecordError             bytes are not a valid record, index or compressed stream
"""


class ManifestError(Exception):
    """A manifest or a file that it names cannot be used.

    Args:
        where: the location (and field or line) that is wrong.
        expected: what should have been there.
        found: what was there instead, shortened.
        hint: what to do next.
    """

    def __init__(self, *, where: object, expected: str, found: str, hint: str = "") -> None:
        self.where = str(where)
        self.expected = expected
        self.found = shorten(found)
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{self.where}: expected {self.expected}, found {self.found}"
        return f"{text}. {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (Spark tasks); keyword arguments do not survive pickling.
        return _rebuild, (type(self), self.where, self.expected, self.found, self.hint)


def _rebuild(
    kind: type[ManifestError], where: str, expected: str, found: str, hint: str
) -> ManifestError:
    return kind(where=where, expected=expected, found=found, hint=hint)


class MissingManifest(ManifestError, FileNotFoundError):
    """The location holds no manifest."""


class MalformedManifest(ManifestError, ValueError):
    """The bytes are not a valid manifest of the version that they declare."""


class UnknownKind(ManifestError, ValueError):
    """The manifest is of a kind that this release does not know."""


class WrongKind(ManifestError, ValueError):
    """The manifest is valid but of another kind than the one asked for."""


class UnsupportedVersion(ManifestError, ValueError):
    """The manifest was written for another major version of the contract."""


class WrongChecksum(ManifestError, ValueError):
    """The bytes of a file do not match the checksum in the manifest."""


class WrongIdentity(ManifestError, ValueError):
    """The identity does not match the manifest's content: one of them was changed."""


class MissingFile(ManifestError, FileNotFoundError):
    """A file that the manifest names does not exist."""


class NameTaken(ManifestError, FileExistsError):
    """A committed run of that name has another recipe or other inputs."""


class RecordError(ValueError):
    """The bytes are not a valid record, index or compressed stream."""


def shorten(text: str, limit: int = 300) -> str:
    """Shorten a text that came from outside, so that an error stays readable."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
