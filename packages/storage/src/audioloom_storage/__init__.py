"""Storage for audioloom: list, read and publish files, never replacing one, on every backend."""

from audioloom_storage.backend.protocol import Entry
from audioloom_storage.backend.temporary import finished_path, is_temporary
from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    NoSpace,
    NotAFile,
    NotAFolder,
    NotConfigured,
    NotFound,
    PermissionDenied,
    StorageError,
    TooLarge,
    Unavailable,
    UnknownOutcome,
    UnsafePath,
    UnsupportedScheme,
)
from audioloom_storage.location import Location, locate
from audioloom_storage.permissions import is_guarded, is_own, is_private, is_shared, share
from audioloom_storage.read import (
    exists,
    leads_back,
    list_folder,
    open_read,
    read_bytes,
    stat,
    walk,
)
from audioloom_storage.write import (
    create,
    make_folder,
    publish,
    remove,
    remove_empty_folder,
    remove_tree,
)

__all__ = [
    "AlreadyExists",
    "Entry",
    "IsAFolder",
    "Location",
    "NoSpace",
    "NotAFile",
    "NotAFolder",
    "NotConfigured",
    "NotFound",
    "PermissionDenied",
    "StorageError",
    "TooLarge",
    "Unavailable",
    "UnknownOutcome",
    "UnsafePath",
    "UnsupportedScheme",
    "create",
    "exists",
    "finished_path",
    "is_guarded",
    "is_own",
    "is_private",
    "is_shared",
    "is_temporary",
    "leads_back",
    "list_folder",
    "locate",
    "make_folder",
    "open_read",
    "publish",
    "read_bytes",
    "remove",
    "remove_empty_folder",
    "remove_tree",
    "share",
    "stat",
    "walk",
]
