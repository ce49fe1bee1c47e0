import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Line for line."""
    page = README.read_text("utf-8")
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    printed = re.search(r"prints\n\n```\n(.*?)```", page, re.DOTALL)
    assert example
    assert printed

    exec(example[1], {})  # noqa: S102 - our own page

    assert printed[1] == capsys.readouterr().out
