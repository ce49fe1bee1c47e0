from pathlib import Path
from typing import Any


def test_a_machine_that_can_train(trainer: Any, tmp_path: Path) -> None:
    """TensorFlow, its devices, the cores, and the room of the cache are looked at."""
    ran = trainer("doctor", "--root", tmp_path, "--cache", tmp_path, "--cache-bytes", "1KB")
    assert 0 == ran.code, ran.err
    lines = {line[9:].split("  ")[0]: line for line in ran.out.splitlines()}
    assert ["root", "scratch", "TensorFlow", "cores", "cache"] == [*lines]
    assert "keras 3." in lines["TensorFlow"]


def test_a_full_disk_is_a_warning(trainer: Any, tmp_path: Path) -> None:
    """It may be large enough for the shards, which nobody knows here."""
    ran = trainer("doctor", "--root", tmp_path, "--cache", tmp_path, "--cache-bytes", "999999TB")
    assert 0 == ran.code
    assert "warning  cache" in ran.out
