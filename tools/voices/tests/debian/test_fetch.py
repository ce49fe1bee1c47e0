from pathlib import Path

import pytest
from audioloom_voices.debian.fetch import default_cache, fetch
from audioloom_voices.errors import RegistrySilent
from voices_registry import Registry

EN = "asterisk-core-sounds-en-wav"
NOWHERE = "deb [trusted=yes] copy:/nowhere/at/all ./\n"


def test_a_cached_package_that_changed_is_fetched_again(registry: Registry, tmp_path: Path) -> None:
    """A half-written or edited file is not trusted because of its name."""
    cache = tmp_path / "cache"
    whole = fetch([EN], cache, registry.sources)[EN].read_bytes()
    (cache / f"{EN}.deb").write_bytes(whole[:-1])
    assert fetch([EN], cache, registry.sources)[EN].read_bytes() == whole


def test_a_cached_package_needs_no_registry(registry: Registry, tmp_path: Path) -> None:
    """And one that is missing still does."""
    fetch([EN], tmp_path / "cache", registry.sources)
    registry.sources.write_text(NOWHERE)
    assert fetch([EN], tmp_path / "cache", registry.sources)[EN].is_file()
    with pytest.raises(RegistrySilent):
        fetch([EN, "asterisk-core-sounds-fr-wav"], tmp_path / "cache", registry.sources)


def test_a_failure_leaves_only_what_was_cached(registry: Registry, tmp_path: Path) -> None:
    """Apt's lists and half downloads go away."""
    registry.sources.write_text(NOWHERE)
    with pytest.raises(RegistrySilent):
        fetch([EN], tmp_path / "cache", registry.sources)
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_cache_holds_packages_and_checksums_only(registry: Registry, tmp_path: Path) -> None:
    """The lists of a whole distribution are not kept for three packages."""
    fetch([EN], tmp_path / "cache", registry.sources)
    names = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert names == [f"{EN}.deb", f"{EN}.deb.sha256"]


def test_a_cache_folder_may_have_a_space_in_its_name(registry: Registry, tmp_path: Path) -> None:
    """It stands in apt's configuration."""
    assert fetch([EN], tmp_path / "my cache", registry.sources)[EN].is_file()


@pytest.mark.parametrize("value", ["", "relative/cache"])
def test_an_unusable_cache_variable_means_the_home_folder(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the XDG specification has it."""
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert default_cache() == Path.home() / ".cache/audioloom/debian-voices"


def test_the_cache_variable_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache lies where the user keeps caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "audioloom/debian-voices"
