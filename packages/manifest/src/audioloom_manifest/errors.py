"""What can be wrong with a manifest, and where."""

from copyreg import __newobj__ as blank  # type: ignore[attr-defined]


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
        return blank, (type(self), *self.args), self.__dict__


class MissingManifest(ManifestError, FileNotFoundError):
    """There is no manifest at the location."""


class MalformedManifest(ManifestError, ValueError):
    """The bytes are not a manifest of the version they claim to be."""


class UnreadableManifest(ManifestError):
    """A manifest may be there, but this user may not read it, or what lies there is no file."""


class UnknownKind(ManifestError, ValueError):
    """The manifest is of a kind that this release does not know."""


class WrongKind(ManifestError, ValueError):
    """The manifest is a good one, of another kind than the one asked for."""


class UnsupportedVersion(ManifestError, ValueError):
    """Another major version of the contract: reading it would be guessing."""


class WrongChecksum(ManifestError, ValueError):
    """Bytes are not what the manifest says they are."""


class WrongIdentity(ManifestError, ValueError):
    """The identity is not that of what the manifest says: it was changed, or made up."""


class MissingFile(ManifestError, FileNotFoundError):
    """A file that the manifest names is not there."""


class NameTaken(ManifestError, FileExistsError):
    """A committed run of that name has another recipe or other inputs."""


class RecordError(ValueError):
    """Bytes are not the record, index or compressed stream that they should be."""


def shorten(text: str, limit: int = 300) -> str:
    """Bound a text that came from outside, so that an error stays readable."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
