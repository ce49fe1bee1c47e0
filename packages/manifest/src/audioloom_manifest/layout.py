"""The folders of each kind's runs below a root."""

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
    """Return the folder of a run: `<root>/<folder of the kind>/<name>`."""
    return root / FOLDERS[kind] / name


def manifest_location(folder: Location) -> Location:
    """Return the location of the manifest of a run folder."""
    return folder / MANIFEST_NAME


def root_of(folder: Location) -> Location:
    """Return the root above a run folder."""
    return folder.parent.parent
