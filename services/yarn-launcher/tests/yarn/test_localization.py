import io
import os
import stat
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from audioloom_stage.errors import InputMissing
from audioloom_storage import locate
from audioloom_yarn_launcher.commands import run_yarn as on_yarn
from audioloom_yarn_launcher.errors import BadArchive
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.yarn.localization import check_archive, check_members, requirements_of

OURS = f"{'a' * 64}.tar.gz"


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


def tar(path: Path, *infos: tuple[str, bytes, str]) -> Path:
    """An archive of these: name, type, target."""
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, target in infos:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            info.size = 3 if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(b"abc"))
    return path


def zipped(path: Path, name: str, text: str, mode: int) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, text)
    return path


@pytest.mark.parametrize(
    ("name", "kind", "target"),
    [
        ("../x", tarfile.REGTYPE, ""),
        ("/x", tarfile.DIRTYPE, ""),
        ("a", tarfile.SYMTYPE, "../x"),
        ("a", tarfile.LNKTYPE, "/x"),
        ("a", tarfile.FIFOTYPE, ""),
    ],
)
def test_a_tar_that_leads_out_is_refused(
    tmp_path: Path, name: str, kind: bytes, target: str
) -> None:
    """With the member's name."""
    made = tar(tmp_path / "x.tar.gz", ("fine", tarfile.REGTYPE, ""), (name, kind, target))
    with pytest.raises(BadArchive, match=name):
        check_members(locate(str(made)))


def test_a_zip_that_leads_out_is_refused(tmp_path: Path) -> None:
    """By a name, and by what a link in it says."""
    for name, text, mode in (("../x", "", 0o644), ("a", "../x", stat.S_IFLNK | 0o777)):
        made = zipped(tmp_path / "x.zip", name, text, mode)
        with pytest.raises(BadArchive, match=r"leads (or may lead )?out"):
            check_members(locate(str(made)))


def test_a_link_in_a_zip_fills_no_memory(tmp_path: Path) -> None:
    """A member that is called a link may be as large as any other."""
    made = zipped(tmp_path / "x.zip", "a", "a" * (64 << 20), stat.S_IFLNK | 0o777)
    tracemalloc.start()
    try:
        check_members(locate(str(made)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    """Here, and not by every node in turn."""
    whole = tar(tmp_path / "x.tar.gz", *((f"f{n}", tarfile.REGTYPE, "") for n in range(50)))
    whole.write_bytes(whole.read_bytes()[:-40])
    (tmp_path / "y.zip").write_bytes(b"PK")
    (tmp_path / "z.tgz").write_bytes(b"")
    for name in ("x.tar.gz", "y.zip", "z.tgz"):
        with pytest.raises(BadArchive, match="cannot be read to its end"):
            check_members(locate(str(tmp_path / name)))


def test_what_stays_within_is_taken(tmp_path: Path) -> None:
    """And one that we have packed ourselves is not read again."""
    check_members(locate(str(tar(tmp_path / "x.tgz", ("a", tarfile.REGTYPE, "")))))
    check_members(locate(str(zipped(tmp_path / "x.zip", "a/b", "x", 0o644))))
    (tmp_path / OURS).write_bytes(b"not read")
    check_members(locate(str(tmp_path / OURS)))


@pytest.mark.parametrize("planted", ["by another user", "by anybody"])
def test_a_name_of_ours_makes_no_archive_ours(tmp_path: Path, planted: str) -> None:
    """What others could have written is looked into, whatever it is called."""
    made = tar(tmp_path / OURS, ("../x", tarfile.REGTYPE, ""))
    if planted == "by anybody":
        made.chmod(0o666)
    elif os.geteuid() == 0:
        os.chown(made, 65534, -1)
    else:
        pytest.skip("only root gives files away")
    with pytest.raises(BadArchive, match="outside of its folder"):
        check_members(locate(str(made)))
