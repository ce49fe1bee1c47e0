"""`verify`: read all files of a run again and compare them with its manifest."""

from typing import Any

from audioloom_manifest.file_list import check_files
from audioloom_manifest.kinds import FeaturesManifest, RecordingsManifest
from audioloom_manifest.parquet import BadParquet
from audioloom_manifest.reader import Opened
from audioloom_stage.logs import bind
from audioloom_stage.progress_bar import progress
from audioloom_stage.result import JSON, Result
from audioloom_stage.terminal import counted

from audioloom_featurizer.commands.inspect import open_ours
from audioloom_featurizer.errors import BadInventory, Damaged, NoRecordings
from audioloom_featurizer.extraction.agreement import Comparison, compare_features, need_librosa
from audioloom_featurizer.settings import VerifySettings
from audioloom_featurizer.tables.recipe import check_not_imported
from audioloom_featurizer.verification import check_features, check_inventory, need_recordings

MOST_SHOWN = 20
_SAID = ("recordings", "windows", "deviation", "where")


def verify(settings: VerifySettings) -> Result:
    """Check the files first, then their contents; reading the manifest checks its identity.

    Raises:
        ManifestError: the manifest or the list of files was changed after the commit.
        Damaged: the run does not match its manifest; the message has the first problems.
        MissingLibrary: librosa is not installed here.
        InvalidOption: librosa is to compute imported features again.
    """
    if settings.against is not None:
        need_librosa(f"--against {settings.against}")
    opened = open_ours(settings.manifest)
    bind(run=opened.manifest.name)
    if settings.against is not None and isinstance(opened.manifest, FeaturesManifest):
        check_not_imported(opened)
    entries = opened.files()
    comparison: Comparison | None = None
    with progress(len(entries), "checking", "files") as bar:
        problems = [str(each) for each in check_files(opened.folder, bar.over(entries))]
    _stop_at(problems, opened)  # the contents of damaged files prove nothing
    try:
        if isinstance(opened.manifest, RecordingsManifest):
            problems += check_inventory(opened)
        else:
            problems += check_features(opened)
            if settings.against is not None:
                recordings = need_recordings(opened)
                comparison = compare_features(opened, recordings, settings.sample, settings.feature)
                problems += (*comparison.problems, *comparison.unread)
    except (BadInventory, BadParquet, NoRecordings) as error:
        problems.append(str(error))
    _stop_at(problems, opened)
    where = str(opened.location)
    size = sum(entry.bytes for entry in entries)
    lines = [f"{where}: {counted(len(entries), 'files')}, {size:,} bytes, all as the manifest says"]
    data: dict[str, JSON] = {
        "location": where,
        "files": len(entries),
        "bytes": size,
        "problems": [],
    }
    if comparison:
        lines.append(
            f"{comparison.recordings} recordings, {comparison.windows} windows, at most"
            f" {comparison.deviation:.2g} from librosa ({comparison.where})"
        )
        data["librosa"] = {name: getattr(comparison, name) for name in _SAID}
    return Result(lines, data)


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
