"""Where the runs of each kind lie below a root."""

from audioloom_storage import Location

from audioloom_manifest.envelope import Kind

FOLDERS: dict[Kind, str] = {
    "recordings": "recordings",
    "features": "features",
    "shards": "shards",
    "training-run": "runs",
}
"""The folder of each kind below a root, in pipeline order."""

MANIFEST_NAME = "manifest.json"


def run_folder(root: Location, kind: Kind, name: str) -> Location:
    """The folder of a run: `<root>/<folder of the kind>/<name>`."""
    return root / FOLDERS[kind] / name


def root_of(folder: Location) -> Location:
    """The root that a run folder lies under, by the layout."""
    return folder.parent.parent
