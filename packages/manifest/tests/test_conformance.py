"""The cases of `shared/contracts/conformance`: the reader answers each as the contract says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CONTRACTS = Path(__file__).parents[3] / "shared" / "contracts"
CONFORMANCE = CONTRACTS / "conformance"
CASE_FOLDERS = sorted(CONFORMANCE.glob("cases/*"))
CASES = {
    path.parent.name: json.loads(path.read_bytes())
    for path in CONFORMANCE.glob("cases/*/case.json")
}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """What the program says to each case."""
    requests = []
    for name, case in CASES.items():
        request = dict(case["request"])
        inside = request.pop("folder", "value.json" if request["do"] == "digest" else ".")
        requests.append({**request, "path": str(CONFORMANCE / "cases" / name / "input" / inside)})
    done = subprocess.run(
        [sys.executable, CONFORMANCE / "answer.py"],
        input="".join(json.dumps(each) + "\n" for each in requests),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "AUDIOLOOM_LATE_FILES_SECONDS": "0"},
    )
    return dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_case_is_answered_as_expected(answers: dict[str, Any], name: str) -> None:
    """By the reading, or by the class of the error."""
    assert CASES[name]["expected"] == answers[name], CASES[name]["about"]
