from pathlib import Path

import pytest
from audioloom_storage import Location, locate


@pytest.fixture
def root(tmp_path: Path) -> Location:
    """An empty root of runs."""
    return locate(tmp_path)
