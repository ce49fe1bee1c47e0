import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_voices.debian.apt import configuration, download, run
from audioloom_voices.errors import NotVerified, PackageUnknown, RegistrySilent, ToolMissing
from voices_registry import Registry

EN = "asterisk-core-sounds-en-wav"


def test_a_registry_that_does_not_answer(
    make_registry: Callable[[], Registry], tmp_path: Path
) -> None:
    """`apt-get update` ends in 0 even then; it must not look like an unknown package."""
    registry = make_registry()
    with socket.socket() as closed:  # bound and not listening: refuses at once
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        registry.sources.write_text(f"deb [trusted=yes] http://127.0.0.1:{port} ./\n")
        with pytest.raises(RegistrySilent, match=r"does not answer.*apt says: "):
            download([EN], tmp_path / "work", registry.sources)


def test_a_package_that_the_registry_lacks(registry: Registry, tmp_path: Path) -> None:
    """It answers, so trying again would not help."""
    with pytest.raises(PackageUnknown, match=r"expected asterisk-core-sounds-xx-wav in apt's"):
        download(["asterisk-core-sounds-xx-wav"], tmp_path / "work", registry.sources)


def test_a_machine_without_sources(make_registry: Callable[[], Registry], tmp_path: Path) -> None:
    """As in a bare container: the text says what to add."""
    registry = make_registry()
    registry.sources.write_text("")
    with pytest.raises(PackageUnknown, match="add Debian's main"):
        download([EN], tmp_path / "work", registry.sources)


def test_a_package_that_is_not_what_the_list_says(registry: Registry, tmp_path: Path) -> None:
    """One byte is enough."""
    registry.damage("en")
    with pytest.raises(NotVerified, match="Hash Sum mismatch"):
        download([EN], tmp_path / "work", registry.sources)


def test_a_list_that_nobody_signed(registry: Registry, tmp_path: Path) -> None:
    """Only a source that the user marked as trusted may do without: no package is taken from it."""
    text = registry.sources.read_text().replace("[trusted=yes] ", "")
    registry.sources.write_text(text)
    with pytest.raises(RegistrySilent, match="Release file"):
        download([EN], tmp_path / "work", registry.sources)


def test_a_machine_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text says where this works."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match=r"apt-get.*Debian"):
        download([EN], tmp_path / "work")


def test_downloads_the_packages_asked_for(registry: Registry, tmp_path: Path) -> None:
    """Byte for byte, and no others."""
    packages = [EN, "asterisk-core-sounds-ru-wav"]
    found = download(packages, tmp_path / "work", registry.sources)
    assert set(found) == set(packages)
    for path in found.values():
        assert path.read_bytes() == (registry.folder / path.name).read_bytes()


@pytest.mark.skipif(shutil.which("apt-config") is None, reason="needs apt-config")
def test_everything_apt_writes_or_runs_is_kept_off_the_machine(tmp_path: Path) -> None:
    """As apt itself understands the configuration, read after the machine's own."""
    (tmp_path / "apt.conf").write_text(configuration(tmp_path, None))

    def ask(*arguments: str) -> str:
        return run(
            ["apt-config", f"--config-file={tmp_path}/apt.conf", *arguments], tmp_path
        ).stdout

    for key in ("Dir::State::lists", "Dir::State::status", "Dir::Cache::archives", "Dir::Log"):
        assert ask("shell", "X", f"{key}/f").startswith(f"X='{tmp_path}/"), key
    hooks = [line for line in ask("dump").splitlines() if line.startswith("APT::Update::P")]
    assert [line for line in hooks if not line.endswith(' "";')] == []
