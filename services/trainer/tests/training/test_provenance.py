from __future__ import annotations

from pathlib import Path

from audioloom_manifest.envelope import Producer
from audioloom_manifest.publication import Attempt
from audioloom_storage import locate
from audioloom_trainer.training.provenance import provenance
from manifest_runs import commit_one

ATTEMPT = Attempt(
    Producer(stage="trainer", version="1.2.3"), host="node-7", versions={"keras": "3", "numpy": "2"}
)


def test_an_input_that_is_gone_is_named(tmp_path: Path) -> None:
    """Nothing fails at the end of a training because old features were removed."""
    root = locate(tmp_path)
    reference = commit_one(root).opened.reference(root)
    facts = dict(provenance(ATTEMPT, 0.0, (reference,), locate(tmp_path / "elsewhere")))
    assert f"features {reference.name}" == facts["made from"]
    assert "" == facts["duration"]


def test_inputs_are_followed_to_their_recordings(tmp_path: Path) -> None:
    """How many were used and how many refused."""
    root = locate(tmp_path)
    reference = commit_one(root).opened.reference(root)
    facts = dict(provenance(ATTEMPT, 3723.4, (reference,), root))
    assert f"features {reference.name} (recordings used: 1, refused: 0)" == facts["made from"]
    assert "1 h 2 min" == facts["duration"]
    assert "node-7" == facts["host"]
    assert "audioloom-trainer 1.2.3" == facts["made by"]
    assert "keras 3" == facts["versions"]
