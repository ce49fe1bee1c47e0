"""`report`: write a page about a features run."""

from audioloom_manifest.feature_reader import read_feature_sample
from audioloom_manifest.reader import read_manifest
from audioloom_runs.pages.features import features_sections
from audioloom_runs.pages.report import write_report
from audioloom_stage.progress_bar import working
from audioloom_stage.result import Result

from audioloom_featurizer.settings import ReportSettings


def report(settings: ReportSettings) -> Result:
    """Read a part of the features and write the page."""
    opened = read_manifest(settings.manifest, "features")
    with working("reading features"):
        sample = read_feature_sample(opened, settings.files)
    return write_report(opened, features_sections(opened.manifest, sample), settings.to)
