from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from audioloom_trainer.errors import BadModel
from audioloom_trainer.models import source_files as module
from audioloom_trainer.models.source_files import digest_of, source_files


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
