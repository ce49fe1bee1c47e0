from pathlib import Path
from typing import Any

import pytest
from audioloom_environment.build import BuildInputs, build_inputs
from audioloom_stage.errors import BadConfiguration, InputMissing


def of(folder: Path, python: str = "3.11", **given: Any) -> BuildInputs:
    return build_inputs(folder, python=python, **given)


def test_nothing_is_nothing_to_build_from(tmp_path: Path) -> None:
    """What would do is named."""
    with pytest.raises(BadConfiguration, match="--requirements"):
        of(tmp_path)


@pytest.mark.parametrize("package", ["numpy", "numpy>=2", "numpy==2.*", "git+ssh://x"])
def test_a_package_that_is_not_pinned_is_refused(package: str, tmp_path: Path) -> None:
    """The name of the archive would say something else tomorrow."""
    with pytest.raises(BadConfiguration, match="tomorrow"):
        of(tmp_path, packages=(package,))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before anything is built."""
    with pytest.raises(InputMissing, match="locked"):
        of(tmp_path, requirements=str(tmp_path / "locked.txt"))


def test_the_digest_is_that_of_what_goes_in(tmp_path: Path) -> None:
    """Not of where it lies, of comments, or of what a build left behind."""
    folder = tmp_path / "mine"
    (folder / "src").mkdir(parents=True)
    (folder / "src/a.py").write_text("a = 1")
    (tmp_path / "locked.txt").write_text("x==1\n")
    given = {"requirements": str(tmp_path / "locked.txt"), "packages": (str(folder),)}
    first = of(tmp_path, **given)
    (tmp_path / "locked.txt").write_text("# made by hand\nx==1\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/a.pyc").touch()
    assert first.digest == of(tmp_path, **given).digest
    (folder / "src/a.py").write_text("a = 2")
    second = of(tmp_path, **given)
    (tmp_path / "locked.txt").write_text("x==2\n")
    digests = [first.digest, second.digest, of(tmp_path, **given).digest]
    digests.append(of(tmp_path, **given, python="3.12").digest)
    assert 4 == len(set(digests))
