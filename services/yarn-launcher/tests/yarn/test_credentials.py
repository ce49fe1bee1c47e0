from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from audioloom_yarn_launcher.yarn.credentials import BACKDATED, Life, life_of, mint, own_key
from audioloom_yarn_launcher.yarn.skein_application import import_skein
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def skein(tmp_path: Path) -> Any:
    """skein, with a folder for the key that is not there yet."""
    found = import_skein()

    class Here:
        Security = found.Security
        properties = type("Properties", (), {"config_dir": str(tmp_path / "key")})

    return Here


@pytest.mark.parametrize(
    "life",
    [
        Life(NOW - 400 * DAY, NOW - DAY),
        Life(NOW - 400 * DAY, NOW + 29 * DAY),
        Life(NOW + HOUR, NOW + 365 * DAY),
        Life(NOW - HOUR, NOW + 365 * DAY),
    ],
    ids=["expired", "expires-soon", "not-yet", "younger-than-clocks-differ"],
)
def test_a_key_that_a_node_would_refuse_is_no_good(life: Life) -> None:
    """Now, in a month, or by a clock that is behind."""
    assert not life.is_good(NOW)


@pytest.mark.parametrize("old", ["nothing", "garbage", "expired", "skein's own"])
def test_what_is_missing_or_no_good_is_made_anew(skein: Any, tmp_path: Path, old: str) -> None:
    """And is good at once, by clocks that are an hour behind too; nobody else can read it."""
    folder = tmp_path / "key"
    if old == "garbage":
        folder.mkdir()
        (folder / "skein.crt").write_text("no certificate")
        (folder / "skein.pem").write_text("no key")
    elif old == "expired":
        mint(skein, datetime.now(UTC) - 400 * DAY).to_directory(str(folder))
    elif old == "skein's own":
        skein.Security.new_credentials().to_directory(str(folder))
    life = life_of(own_key(skein))
    assert life.is_good(datetime.now(UTC))
    assert life.begins <= datetime.now(UTC) - BACKDATED
    assert [0o700, 0o600, 0o600] == [
        path.stat().st_mode & 0o777 for path in (folder, folder / "skein.crt", folder / "skein.pem")
    ]


def test_of_several_at_once_one_makes_the_key(skein: Any) -> None:
    """And all have the same, certificate and key of one pair."""
    with ThreadPoolExecutor(4) as pool:
        keys = list(pool.map(lambda _: own_key(skein), range(8)))
    pairs = {(each.cert_bytes, each.key_bytes) for each in keys}
    assert 1 == len(pairs)
    (pair,) = pairs
    public = [
        x509.load_pem_x509_certificate(pair[0]).public_key(),
        load_pem_private_key(pair[1], None).public_key(),
    ]
    assert public[0] == public[1]


def test_a_key_that_is_good_stays(skein: Any, tmp_path: Path) -> None:
    """What runs under it must still be reached."""
    own_key(skein)
    before = (tmp_path / "key" / "skein.pem").read_bytes()
    own_key(skein)
    assert before == (tmp_path / "key" / "skein.pem").read_bytes()
