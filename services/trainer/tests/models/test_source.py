from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest
from audioloom_trainer.errors import BadModel
from audioloom_trainer.models import source as module
from audioloom_trainer.models.source import digest_of, find_builtin, find_model, source_files


@pytest.mark.parametrize("reference", ["", "model", "model.py", ":build", "model.py:", "m.py:a b"])
def test_what_names_no_function_is_refused(reference: str) -> None:
    """With both forms that there are."""
    with pytest.raises(BadModel, match=r"FILE\.py:FUNCTION"):
        find_model(reference)


@pytest.mark.parametrize(
    "reference", ["no.such.module:build", "sys:exit", "json.decoder.x:build", "math:floor", "..:x"]
)
def test_what_is_no_python_module_is_refused(reference: str) -> None:
    """Built-in and compiled modules have no file whose digest could be kept."""
    with pytest.raises(BadModel, match="a Python module"):
        find_model(reference)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """With where it was looked for."""
    with pytest.raises(BadModel, match=str(tmp_path / "model.py")):
        find_model(f"{tmp_path}/model.py:build")


def test_a_huge_file_is_no_python(tmp_path: Path) -> None:
    """It would be read whole."""
    with (tmp_path / "model.py").open("wb") as file:
        file.truncate(17 << 20)
    with pytest.raises(BadModel, match="17825792 bytes"):
        find_model(f"{tmp_path}/model.py:build")


def test_a_file_is_known_by_its_name_and_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it lies: a manifest is the same for all who have the file."""
    (tmp_path / "model.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.chdir(tmp_path)
    found = find_model("model.py:build")
    assert ("model.py:build", None) == (found.label, found.module)
    digest = hashlib.sha256((tmp_path / "model.py").read_bytes()).hexdigest()
    assert (tmp_path / "model.py", digest) == (found.path, found.sha256)


def test_a_module_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither it nor the packages around it: they may import TensorFlow."""
    inner = tmp_path / "outer_of_mine" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner.parent, inner):
        (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (inner / "nets.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = find_model("outer_of_mine.inner.nets:build")
    assert ("outer_of_mine.inner.nets:build", inner / "nets.py") == (found.label, found.path)
    assert "outer_of_mine" not in sys.modules


@pytest.mark.parametrize("reference", ["builtin:conv1d", "audioloom_trainer.networks:conv1d"])
def test_a_builtin_network_is_known_by_its_name_and_revision(reference: str) -> None:
    """Not by its file: whoever corrects a comment there makes no other run of it."""
    found = find_model(reference)
    assert ("builtin:conv1d", None, 1) == (found.label, found.sha256, found.revision)
    assert found == find_builtin("builtin:conv1d", 1)


@pytest.mark.parametrize(
    ("label", "revision"),
    [
        ("builtin:conv1d", 2),
        ("builtin:conv1d", None),
        ("builtin:other", 1),
        ("audioloom_trainer.networks:conv1d", 1),
    ],
)
def test_another_release_of_a_builtin_network_is_not_found(
    label: str, revision: int | None
) -> None:
    """Nor is anything else that a manifest may name."""
    assert find_builtin(label, revision) is None


def test_a_misspelt_builtin_network_is_told() -> None:
    """With those that there are."""
    with pytest.raises(BadModel, match="a built-in function: conv1d, conv2d_gru"):
        find_model("builtin:conv2d")


def test_an_error_is_told_by_the_line_that_raised_it(tmp_path: Path) -> None:
    """The last line of the user's own file on the way, whatever that called."""
    file = tmp_path / "model.py"
    file.write_text("import json\n\ndef build():\n    return json.loads('no')\n")
    source = find_model(f"{file}:build")
    namespace: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), namespace)  # noqa: S102
    with pytest.raises(ValueError, match="Expecting value") as caught:
        namespace["build"]()
    assert f"{file}:4" == source.line_of(caught.value)
    assert str(file) == source.line_of(ValueError("of nowhere"))


def read(folder: Path, text: str, **beside: str) -> dict[str, bytes]:
    for name, content in {"model": text, **beside}.items():
        file = folder / f"{name.replace('__of__', '/')}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
    return source_files(folder / "model.py", text.encode())


def test_a_file_alone_has_the_digest_of_its_bytes(tmp_path: Path) -> None:
    """Whatever installed modules it imports."""
    found = read(tmp_path, "import keras, os.path\nfrom numpy import array\n", other="x = 1\n")
    assert ["model.py"] == [*found]
    assert hashlib.sha256(found["model.py"]).hexdigest() == digest_of(found)


def test_modules_beside_it_are_found_one_through_another(tmp_path: Path) -> None:
    """Also inside functions; of a package, every module."""
    found = read(
        tmp_path,
        "def build():\n    from layers_of_mine import x\n",
        layers_of_mine="import package_of_mine.deep\nfrom . import model\nimport model\n",
        package_of_mine__of____init__="raise RuntimeError('imported')\n",
        package_of_mine__of__deep="",
        stranger="",
    )
    assert {
        "model.py",
        "layers_of_mine.py",
        "package_of_mine/__init__.py",
        "package_of_mine/deep.py",
    } == {*found}


def test_a_folder_without_init_is_a_package_too(tmp_path: Path) -> None:
    """The import system takes it last, after modules of the same name, installed ones included."""
    found = read(
        tmp_path,
        "import nets_of_mine.blocks\nimport other\nimport json\n",
        nets_of_mine__of__blocks="",
        other="",
        other__of__deep="",
        json__of__stranger="",
    )
    assert {"model.py", "nets_of_mine/blocks.py", "other.py"} == {*found}


def test_the_digest_depends_on_every_file_and_name(tmp_path: Path) -> None:
    """Another module makes another run."""
    found = read(tmp_path, "import a\n", a="x = 1\n")
    assert 1 == len({digest_of(found), digest_of(dict(reversed(found.items())))})
    assert digest_of(found) != digest_of({**found, "a.py": b"x = 2\n"})
    assert digest_of(found) != digest_of({"model.py": found["model.py"], "b.py": found["a.py"]})


def test_a_file_with_an_error_has_no_modules(tmp_path: Path) -> None:
    """The import reports the error, with its line."""
    assert ["model.py"] == [*read(tmp_path, "import a\nif:\n", a="")]
    assert ["model.py"] == [*read(tmp_path, "\0import a\n", a="")]


def test_too_many_or_too_large_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be read whole, and kept with every run."""
    monkeypatch.setattr(module, "MOST_FILES", 1)
    with pytest.raises(BadModel, match="at most 1 files"):
        read(tmp_path, "import a\n", a="")
    with (tmp_path / "a.py").open("wb") as file:
        file.truncate(17 << 20)
    with pytest.raises(BadModel, match="17825792 bytes"):
        source_files(tmp_path / "model.py", b"import a")
