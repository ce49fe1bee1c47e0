from __future__ import annotations

from pathlib import Path

import pytest
from audioloom_storage import Location, locate


@pytest.fixture
def here(tmp_path: Path) -> Location:
    """An empty local folder."""
    return locate(tmp_path)
