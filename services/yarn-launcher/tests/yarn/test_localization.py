import tarfile
from pathlib import Path

import pytest
from audioloom_stage.errors import InputMissing
from audioloom_yarn_launcher.commands import run_yarn as on_yarn
from audioloom_yarn_launcher.errors import BadArchive
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.yarn.localization import check_archive, requirements_of


def test_a_container_gets_what_the_launcher_needs_and_no_tools() -> None:
    """Extras that are asked for count, those that are not do not."""
    found = requirements_of("audioloom-yarn-launcher")
    assert {"audioloom-yarn-launcher", "audioloom-storage", "hdfs-native", "skein"} <= found
    assert set() == found & {"pytest", "mypy", "pyspark", "hypothesis", "audioloom-mini-cluster"}


def test_an_environment_must_be_there_and_be_an_archive(tmp_path: Path) -> None:
    """A folder is answered with how to make one of it."""
    with pytest.raises(InputMissing, match="env pack"):
        check_archive(str(tmp_path))
    with pytest.raises(InputMissing, match="no such environment"):
        check_archive(str(tmp_path / "x.tar.gz"))
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz"):
        pass
    (tmp_path / "damaged.tar.gz").write_bytes(b"no archive")
    with pytest.raises(BadArchive, match="cannot be read to its end"):
        check_archive(str(tmp_path / "damaged.tar.gz"))
    assert f"file://{tmp_path}/x.tar.gz" == check_archive(str(tmp_path / "x.tar.gz"))


@pytest.mark.parametrize(
    ("name", "told"),
    [("b.tar.gz", "no such"), ("b.zip", "no such"), ("b.tar.zst", "YARN cannot unpack")],
)
def test_only_what_yarn_unpacks_is_an_archive(tmp_path: Path, name: str, told: str) -> None:
    """It knows no zstd."""
    with pytest.raises(InputMissing, match=told):
        check_archive(str(tmp_path / name))


@pytest.mark.parametrize(("then", "error"), [(None, InputMissing), (b"other", BadArchive)])
def test_an_environment_is_looked_at_again_after_the_wait(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    then: bytes | None,
    error: type[Exception],
) -> None:
    """For another launcher to end, which may take hours; no cluster is asked."""
    archive = tmp_path / "x.tar.gz"
    with tarfile.open(archive, "w:gz"):
        pass

    def wait(*_: object) -> int:
        archive.unlink()
        if then is not None:
            archive.write_bytes(then)
        return 1

    for name in ("find_hadoop", "check_programs", "check_reachable", "check_default_system"):
        monkeypatch.setattr(on_yarn.configuration, name, lambda *_: None)
    monkeypatch.setattr(on_yarn, "wait_to_submit", wait)
    monkeypatch.setattr(on_yarn, "connect", lambda *_: pytest.fail("it is submitted"))
    settings = {"root": str(tmp_path), "on": "yarn", "command": ("true",)}
    with pytest.raises(error):
        on_yarn.launch_on_yarn(
            RunSettings.model_validate({**settings, "environment": str(archive)})
        )
