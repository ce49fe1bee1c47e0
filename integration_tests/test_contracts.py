"""Every stage reads the contract's fixtures, and refuses a major that it does not know by name."""

from pathlib import Path

import pytest
from deployment import Deployment

CONTRACTS = Path(__file__).parent.parent / "shared" / "contracts"
READERS = {
    "1-recordings": [("featurizer", "inspect"), ("featurizer", "run")],
    "2-features": [("featurizer", "inspect"), ("sharder", "plan"), ("sharder", "run")],
    "3-shards": [("sharder", "inspect"), ("trainer", "run")],
    "4-training-run": [("trainer", "inspect"), ("trainer", "evaluate")],
}
CASES = [(kind, *reader) for kind, readers in READERS.items() for reader in readers]
VERSIONS = {
    kind: sorted(path.name for path in (CONTRACTS / kind).glob("v1.*/")) for kind in READERS
}
WANTS_THE_MODEL_TOO = "evaluate"
BAD_DATA, INPUT_MISSING = 65, 66


@pytest.fixture(scope="session")
def fixtures(deployment: Deployment) -> str:
    """The fixtures in HDFS, each as the manifest of a folder that holds nothing else."""
    local = deployment.folder / "fixtures"
    for kind in READERS:
        for source in (*(f"{each}/full" for each in VERSIONS[kind]), "invalid/unsupported-major"):
            target = local / kind / source
            target.mkdir(parents=True)
            (target / "manifest.json").write_bytes(
                (CONTRACTS / kind / f"{source}.json").read_bytes()
            )
    return deployment.put(local, "fixtures")


@pytest.mark.parametrize(("kind", "program", "command"), CASES)
def test_an_unknown_major_is_refused(
    deployment: Deployment, fixtures: str, kind: str, program: str, command: str
) -> None:
    """Saying which version was found, which are known, and where."""
    folder = f"{fixtures}/{kind}/invalid/unsupported-major"
    refused = deployment.start(program, command, folder)
    assert (BAD_DATA, "") == refused.finish()
    for word in (f"{folder}/manifest.json", "version", "2.0", "1."):
        assert word in refused.said


@pytest.mark.parametrize(
    ("kind", "program", "command", "version"),
    [
        (*each, version)
        for each in CASES
        if each[2] != WANTS_THE_MODEL_TOO
        for version in VERSIONS[each[0]]
    ],
)
def test_a_valid_manifest_is_read(
    deployment: Deployment, fixtures: str, kind: str, program: str, command: str, version: str
) -> None:
    """Of every version there is: what is missed are the files that it names."""
    folder = f"{fixtures}/{kind}/{version}/full"
    reader = deployment.start(program, command, folder)
    assert (INPUT_MISSING, "") == reader.finish(), reader.said
    assert "a file that the manifest names" in reader.said
