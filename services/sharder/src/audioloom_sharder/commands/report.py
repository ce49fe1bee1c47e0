"""`report`: write a page about a shards run."""

from audioloom_manifest.reader import read_manifest
from audioloom_runs.pages.report import write_report
from audioloom_runs.pages.shards import shards_sections
from audioloom_stage.result import Result

from audioloom_sharder.settings import ReportSettings


def report(settings: ReportSettings) -> Result:
    """Write the page, from the manifest alone."""
    opened = read_manifest(settings.run, "shards")
    return write_report(opened, shards_sections(opened.manifest), settings.to)
