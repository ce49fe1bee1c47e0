"""`verify`: read again all that a manifest claims, and trust none of it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from audioloom_manifest import Opened, Patience, RecordingsManifest, check_files
from audioloom_stage import JSON, Result, bind, progress

from audioloom_featurizer.commands.inspect import open_ours
from audioloom_featurizer.errors import BadInventory, BadUnits, Damaged, MissingLibrary
from audioloom_featurizer.extraction.unit import explaining
from audioloom_featurizer.settings import VerifySettings
from audioloom_featurizer.verification.features import check_features, recordings_of
from audioloom_featurizer.verification.recordings import check_inventory
from audioloom_featurizer.verification.values import Agreement, compare_values

MOST_SHOWN = 20


def verify(settings: VerifySettings) -> Result:
    """Check files first, then what they hold; whoever reads a manifest checks its identity.

    Raises:
        ManifestError: manifest and list of files are not those that were committed.
        Damaged: with the first problems; nothing was changed.
        MissingLibrary: what to verify against is not installed here.
    """
    _need_librosa(settings)
    opened = open_ours(settings.manifest)
    bind(run=opened.manifest.name)
    entries = opened.files()
    problems: list[str] = []
    agreement: Agreement | None = None
    patience = Patience()
    with progress(len(entries), "checking", "files") as bar:
        for entry in bar.over(entries):
            found = check_files(opened.folder, [entry], patience=patience)
            problems += [str(problem.error) for problem in found]
    _stop_at(problems, opened)  # what damaged files hold says nothing
    try:
        if isinstance(opened.manifest, RecordingsManifest):
            problems += check_inventory(opened)
        else:
            problems += check_features(opened)
            agreement = _against_librosa(opened, settings)
            problems += agreement.problems if agreement else ()
    except (BadInventory, BadUnits) as error:
        problems.append(str(error))
    _stop_at(problems, opened)
    where = str(opened.location)
    size = sum(entry.bytes for entry in entries)
    lines = [f"{where}: {len(entries)} files, {size} bytes, all as the manifest says"]
    data: dict[str, JSON] = {
        "location": where,
        "files": len(entries),
        "bytes": size,
        "problems": [],
    }
    if agreement:
        lines.append(
            f"{agreement.recordings} recordings, {agreement.windows} windows, at most"
            f" {agreement.deviation:.2g} from librosa ({agreement.where})"
        )
        data["librosa"] = {
            "recordings": agreement.recordings,
            "windows": agreement.windows,
            "deviation": agreement.deviation,
            "where": agreement.where,
        }
    return Result(lines, data)


def _need_librosa(settings: VerifySettings) -> None:
    """Say it before everything is read."""
    if settings.against is not None and find_spec(settings.against) is None:
        raise MissingLibrary(
            f"{settings.against} is not installed here",
            where=f"--against {settings.against}",
            hint="Install the featurizer with its extra: audioloom-featurizer[librosa].",
        )


def _against_librosa(opened: Opened[Any], settings: VerifySettings) -> Agreement | None:
    if settings.against is None:
        return None
    recordings = recordings_of(opened)
    if recordings is None:
        raise BadInventory(
            "the recordings manifest is gone, and with it where the recordings lie",
            where=opened.location,
            expected="its input",
            found="nothing there",
        )
    with explaining():
        return compare_values(opened, recordings, settings.sample)


def _stop_at(problems: list[str], opened: Opened[Any]) -> None:
    if not problems:
        return
    shown = problems[:MOST_SHOWN]
    if len(problems) > MOST_SHOWN:
        shown.append(f"and {len(problems) - MOST_SHOWN} more")
    raise Damaged(
        "the run is not what its manifest says",
        where=opened.location,
        found="\n".join(shown),
        hint="Restore the files from a copy, or move the folder away and run its stage again.",
    )
