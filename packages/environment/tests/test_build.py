from pathlib import Path
from typing import Any

import pytest
from audioloom_environment import build
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


@pytest.mark.parametrize(
    "line",
    ["numpy", "numpy>=2", "numpy==2.*", "x @ git+ssh://x@main", "-r x.txt", "-e .", "./x.whl"],
)
def test_requirements_that_are_not_pinned_are_refused(line: str, tmp_path: Path) -> None:
    """The line and the file are named."""
    (tmp_path / "locked.txt").write_text(f"scipy==1.0\n{line}\n")
    with pytest.raises(BadConfiguration, match="not pinned") as told:
        of(tmp_path, requirements=str(tmp_path / "locked.txt"))
    assert line in str(told.value)
    assert "locked.txt" in str(told.value)


def test_pins_of_every_form_are_taken(tmp_path: Path) -> None:
    """As uv and pip write them: with hashes, markers, comments and options."""
    (tmp_path / "locked.txt").write_text(
        "# made by a tool\n--only-binary :all:\n"
        "numpy==2.0 ; python_version < '3.12' \\\n    --hash=sha256:a \\\n    --hash=sha256:b\n"
        "    # via scipy\n\nscipy [x] == 1.0  # by hand\ny===1.0+cpu --hash=sha256:c\n"
        f"z @ git+https://host/z@{'a' * 40}\n./w-1.0-py3-none-any.whl --hash=sha256:d\n"
    )
    assert of(tmp_path, requirements=str(tmp_path / "locked.txt")).digest


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a lock: its project `app` needs a folder, another elsewhere, and a wheel."""
    root = tmp_path / "workspace"
    for folder in (root / "app", root / "lib", tmp_path / "other"):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text("a = 1")
    (root / "uv.lock").touch()
    (root / "w-1.0-py3-none-any.whl").touch()
    lock = (
        "-e ./app\n./lib\n-e ../other ; sys_platform == 'linux'\n"
        "./w-1.0-py3-none-any.whl \\\n    --hash=sha256:d\nx==1 \\\n    --hash=sha256:e\n"
    )
    monkeypatch.setattr(build, "output_of", lambda *_, **__: lock)
    return root


def test_the_folders_of_a_lock_are_found_from_where_it_lies(workspace: Path) -> None:
    """Editable or not, they are folders to install; a wheel is a requirement with its hash."""
    found = of(workspace.parent, project=str(workspace / "app"))
    other = f"{workspace.parent / 'other'} ; sys_platform == 'linux'"
    assert sorted([str(workspace / "app"), str(workspace / "lib"), other]) == found.local
    assert found.requirements is not None
    expected = f"{workspace}/w-1.0-py3-none-any.whl \\\n    --hash=sha256:d\nx==1 \\\n"
    assert f"{expected}    --hash=sha256:e\n" == found.requirements.read_text()


@pytest.mark.parametrize("changed", ["app/a.py", "lib/a.py", "../other/a.py"])
def test_the_digest_is_that_of_every_folder_of_a_lock(workspace: Path, changed: str) -> None:
    """Or old code would be taken for what is asked for."""
    before = of(workspace.parent, project=str(workspace / "app")).digest
    (workspace / changed).write_text("a = 2")
    assert before != of(workspace.parent, project=str(workspace / "app")).digest


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


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("src/mine/build/model.py", True),
        ("src/tests/a.py", True),
        ("build/lib/a.py", False),
        ("tests/a.py", False),
        ("src/mine/__pycache__/a.pyc", False),
        ("src/mine.egg-info/PKG-INFO", False),
        ("app/.venv/bin/python", False),
    ],
)
def test_a_package_may_have_the_name_of_what_is_left_out(
    tmp_path: Path, file: str, counts: bool
) -> None:
    """Only at the top of a project is `build` what a build leaves behind."""
    (tmp_path / "mine" / file).parent.mkdir(parents=True)
    before = of(tmp_path, packages=(str(tmp_path / "mine"),)).digest
    (tmp_path / "mine" / file).write_text("a = 1")
    assert counts == (before != of(tmp_path, packages=(str(tmp_path / "mine"),)).digest)


def test_the_digest_is_that_of_linked_folders_too(tmp_path: Path) -> None:
    """What is built follows links; one that leads in a circle is passed over."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "mine/linked").symlink_to(tmp_path / "shared")
    (tmp_path / "mine/circle").symlink_to(tmp_path / "mine")
    before = of(tmp_path, packages=(str(tmp_path / "mine"),)).digest
    (tmp_path / "shared/a.py").write_text("a = 1")
    assert before != of(tmp_path, packages=(str(tmp_path / "mine"),)).digest


@pytest.mark.parametrize("name", ["x-1.0-py3-none-any.whl", "x-1.0.tar.gz"])
def test_the_digest_is_that_of_all_that_may_be_installed(tmp_path: Path, name: str) -> None:
    """A folder of wheels may hold archives of sources."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "locked.txt").write_text("x==1\n")
    given = {"requirements": str(tmp_path / "locked.txt"), "wheels": str(tmp_path / "wheels")}
    digests = []
    for content in ("one", "two"):
        (tmp_path / "wheels" / name).write_text(content)
        digests.append(of(tmp_path, **given).digest)
    assert 2 == len(set(digests))
