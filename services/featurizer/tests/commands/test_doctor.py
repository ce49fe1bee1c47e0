import json
from pathlib import Path

import pytest
from audioloom_featurizer.cli import main


def test_a_machine_that_can_extract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Java, pyspark, librosa and the compiled kernels are looked at."""
    assert 0 == main(["doctor", "--root", str(tmp_path), "--json"])
    found = {
        each["check"]: each["state"] for each in json.loads(capsys.readouterr().out)["findings"]
    }
    assert {"root", "scratch", "Java", "pyspark", "librosa", "kernels"} == {*found}
    assert "failure" not in found.values()


def test_a_machine_without_java(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 78; the line says what to do. A root is not needed for that."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert 78 == main(["doctor"])
    said = capsys.readouterr().out
    assert "FAILURE  Java     Spark needs Java." in said
    assert "skipped  root  no --root is given" in said
