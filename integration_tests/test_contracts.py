"""Every stage reads the contract's cases, and refuses a major that it does not know by name."""

from pathlib import Path

import pytest
from deployment import Deployment

CASES_OF_THE_CONTRACT = Path(__file__).parents[1] / "shared/contracts/conformance/cases"
READERS = {
    "recordings": [("featurizer", "inspect"), ("featurizer", "run")],
    "features": [("featurizer", "inspect"), ("sharder", "plan"), ("sharder", "run")],
    "shards": [("sharder", "inspect"), ("trainer", "run")],
    "training-run": [("trainer", "inspect"), ("trainer", "evaluate")],
}
ALWAYS, WANTS_THE_MODEL_TOO = "run", "evaluate"
CASES = [
    pytest.param(kind, program, command, marks=() if command == ALWAYS else pytest.mark.slow)
    for kind, readers in READERS.items()
    for program, command in readers
]
BAD_DATA, INPUT_MISSING = 65, 66


@pytest.fixture(scope="session")
def fixtures(deployment: Deployment) -> str:
    """Manifests in HDFS, each as the manifest of a folder that holds nothing else."""
    local = deployment.folder / "fixtures"
    for kind in READERS:
        for case in (f"{kind}-complete", f"{kind}-major-2"):
            (local / case).mkdir(parents=True)
            data = (CASES_OF_THE_CONTRACT / case / "input/manifest.json").read_bytes()
            (local / case / "manifest.json").write_bytes(data)
    return deployment.put(local, "fixtures")


@pytest.mark.parametrize(("kind", "program", "command"), CASES)
def test_an_unknown_major_is_refused(
    deployment: Deployment, fixtures: str, kind: str, program: str, command: str
) -> None:
    """Saying which version was found, which are known, and where."""
    folder = f"{fixtures}/{kind}-major-2"
    refused = deployment.start(program, command, folder)
    assert (BAD_DATA, "") == refused.finish()
    for word in (f"{folder}/manifest.json", "version", "2.0", "1."):
        assert word in refused.said


@pytest.mark.parametrize(
    ("kind", "program", "command"),
    [each for each in CASES if each.values[2] != WANTS_THE_MODEL_TOO],
)
def test_a_valid_manifest_is_read(
    deployment: Deployment, fixtures: str, kind: str, program: str, command: str
) -> None:
    """What is missed are the files that it names."""
    reader = deployment.start(program, command, f"{fixtures}/{kind}-complete")
    assert (INPUT_MISSING, "") == reader.finish(), reader.said
    assert "a file that the manifest names" in reader.said
