"""Console scripts find the Python beside them, whoever wrote them."""

from __future__ import annotations

import pytest
from audioloom_environment.relocation import relocatable_script


@pytest.mark.parametrize(
    "data",
    [
        b"#!/bin/bash\necho python\n",
        b"#!/usr/bin/env perl\n",
        b"no script: #!/venv/bin/python\n",
        b"#!/venv/bin/pythonista\n",
        b"",
    ],
)
def test_other_scripts_stay(data: bytes) -> None:
    """What starts no Python is left as it is."""
    assert data == relocatable_script(data)


@pytest.mark.parametrize(
    "start",
    [
        b"#!/venv/bin/python\n",
        b"#!/venv/bin/python3.11 -E\n",
        b"#!/bin/sh\n'''exec' \"/a b/bin/python\" \"$0\" \"$@\"\n' '''\n",
        relocatable_script(b"#!/venv/bin/python\n"),
    ],
)
def test_python_scripts_start_the_one_beside_them(start: bytes) -> None:
    """The forms of pip, of pip for long paths, and of uv."""
    changed = relocatable_script(start + b"print(1)\n")
    assert changed.startswith(b"#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath")
    assert changed.endswith(b"' '''\nprint(1)\n")
    assert b"venv" not in changed
    compile(changed, "script", "exec")
