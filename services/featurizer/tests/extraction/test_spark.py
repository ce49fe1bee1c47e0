from __future__ import annotations

import pytest
from audioloom_featurizer.extraction.spark import limits_for_yarn
from audioloom_featurizer.sandbox.supervisor import WorkerLimits
from audioloom_spark.settings import SparkSettings
from audioloom_stage.units import Size

GB, MB = 1 << 30, 1 << 20


@pytest.mark.parametrize(
    ("memory", "cores", "asked", "given"),
    [
        (GB, 1, GB, 416 * MB),  # Java takes half
        (3 * GB, 2, 4 * GB, 1056 * MB),
        (3 * GB, 2, 300 * MB, 300 * MB),
        (GB, 8, GB, 256 * MB),  # too little for anything: YARN will say so
    ],
)
def test_a_decoder_is_ended_before_its_container_is(
    memory: int, cores: int, asked: int, given: int
) -> None:
    """Else the whole executor would be lost, four times, and with it the job."""
    yarn = SparkSettings(master="yarn", executor_cores=cores, executor_memory=Size(memory))
    assert given == limits_for_yarn(WorkerLimits(memory=asked), yarn).memory


def test_on_this_machine_it_is_what_was_asked_for() -> None:
    """Nobody ends anything here."""
    assert WorkerLimits(memory=8 * GB) == limits_for_yarn(
        WorkerLimits(memory=8 * GB), SparkSettings()
    )
