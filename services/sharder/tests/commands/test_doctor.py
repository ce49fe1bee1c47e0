from pathlib import Path

import pytest
from audioloom_sharder.cli import main


@pytest.mark.parametrize(("master", "java"), [("local[*]", True), ("inline", False)])
def test_spark_is_checked_where_it_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], master: str, *, java: bool
) -> None:
    """A line for each check; without Spark no Java is needed."""
    assert 0 == main(["doctor", "--root", str(tmp_path), "--master", master])
    assert java == ("ok       Java " in capsys.readouterr().out)
