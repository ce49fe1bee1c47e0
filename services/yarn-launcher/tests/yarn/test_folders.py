import tarfile
from pathlib import Path

import pytest
from audioloom_stage.errors import Usage
from audioloom_yarn_launcher.yarn.localization import pack_folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of a user's."""
    package = tmp_path / "mine"
    (package / "layers").mkdir(parents=True)
    (package / "layers/deep.py").write_text("a = 1")
    (package / "latest.py").symlink_to("layers/deep.py")
    (package / "__pycache__").mkdir()
    (package / "__pycache__/deep.pyc").touch()
    return package


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside"])
def test_a_link_that_leads_out_is_refused(package: Path, target: str) -> None:
    """It would lead elsewhere on a node, or nowhere."""
    (package / "layers/link").symlink_to(f"{'' if target[0] == '/' else '../'}{target}")
    with pytest.raises(Usage, match="leads out of it"):
        pack_folder(package, package.parent / "x.tar.gz")


def test_a_folder_becomes_an_archive_of_what_is_in_it(package: Path) -> None:
    """At the top, for YARN unpacks it into a folder of the name; without bytecode."""
    target = package.parent / "x.tar.gz"
    pack_folder(package, target)
    with tarfile.open(target) as tar:
        assert ["latest.py", "layers", "layers/deep.py"] == tar.getnames()
        assert "layers/deep.py" == tar.getmember("latest.py").linkname
