from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.verify import verify as verify_command
from audioloom_featurizer.errors import Damaged, MissingLibrary
from audioloom_featurizer.settings import VerifySettings
from audioloom_manifest.checksum import checksums_of
from audioloom_manifest.errors import WrongIdentity, WrongKind
from audioloom_manifest.parquet import features_schema
from audioloom_manifest.reader import Opened
from featurizer_work import features_of, header_only
from manifest_editing import write_manifest

Table = Callable[[pa.Table], pa.Table]


def verify(opened: Opened) -> str:
    return str(verify_command(VerifySettings(manifest=str(opened.location))).text)


@pytest.fixture
def made(source: Path, root: Path) -> Opened:
    header_only(source / "no" / "s8-bad.wav")
    return features_of(source, root, error_budget="1")


def forge(opened: Opened, role: str, change: Table) -> None:
    """Change the first data file of a role, and make list and manifest agree with it."""
    folder = Path(opened.folder.path)
    entries = opened.files()
    entry = next(each for each in entries if each.role == role)
    table = change(pq.read_table(folder / entry.path))
    pq.write_table(table, folder / entry.path)
    data = (folder / entry.path).read_bytes()
    news = {"bytes": len(data), "records": len(table), **checksums_of(data)}
    entries = [each.model_copy(update=news) if each == entry else each for each in entries]
    write_manifest(folder, json.loads((folder / "manifest.json").read_text()), entries)


def nan_in_the_values(table: pa.Table) -> pa.Table:
    values = [np.full(40 * 32, np.nan, "<f4").tobytes(), *table.column("mfcc").to_pylist()[1:]]
    at = table.schema.get_field_index("mfcc")
    return table.set_column(
        at, table.schema.field(at), pa.array(values, table.schema.field(at).type)
    )


def another_label(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index("label")
    return table.set_column(at, table.schema.field(at), pa.array(["x"] * len(table)))


@pytest.mark.parametrize(
    ("role", "change", "complaint"),
    [
        ("features", nan_in_the_values, "not finite"),
        ("features", lambda table: table.slice(1), "neither in the features nor in the ledger"),
        ("features", lambda table: pa.concat_tables([table, table]), "in more than one place"),
        ("features", lambda table: table.drop_columns(["flags"]), "the column flags"),
        ("features", another_label, "expected labels"),
        ("ledger", lambda table: table.slice(1), "expected refused = 1, found 0"),
        ("units", lambda table: table.slice(1), "a unit that is not planned"),
        ("units", lambda table: table.slice(1), "expected to begin at row 0, found 3"),
        ("units", lambda table: table.slice(0, 2), "units of all 8 recordings, found 6"),
    ],
)
def test_lies_that_checksums_do_not_show(
    made: Opened, role: str, change: Table, complaint: str
) -> None:
    """A manifest that agrees with its files may still not agree with the recordings."""
    forge(made, role, change)
    with pytest.raises(Damaged, match=complaint):
        verify(made)


@pytest.mark.parametrize(
    "count", ["recordings", "extracted", "refused", "flagged", "windows", "audio_seconds"]
)
def test_a_count_that_does_not_add_up(made: Opened, count: str) -> None:
    """Each is counted again, whatever the others say."""
    manifest = made.manifest.to_json()
    manifest["stats"][count] += 1
    write_manifest(Path(made.folder.path), manifest, made.files())
    with pytest.raises(Damaged, match=f"expected {count} = "):
        verify(made)


@pytest.mark.parametrize("counts", ["labels", "refusals"])
def test_a_count_by_name_that_does_not_add_up(made: Opened, counts: str) -> None:
    """The sum may be right, and the parts not."""
    manifest = made.manifest.to_json()
    first = next(iter(manifest["stats"][counts]))
    manifest["stats"][counts]["another"] = manifest["stats"][counts].pop(first)
    write_manifest(Path(made.folder.path), manifest, made.files())
    with pytest.raises(Damaged, match=f"expected {counts} = "):
        verify(made)


@pytest.mark.parametrize("role", ["features", "ledger", "units"])
def test_one_changed_byte_is_found(made: Opened, role: str) -> None:
    """In any file; the error names it."""
    path = Path(made.folder.path, made.files(role)[0].path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(Damaged, match=path.name):
        verify(made)


def test_an_identity_that_was_changed(made: Opened) -> None:
    """The identity is worked out again."""
    where = Path(made.location.path)
    other = "sha256:" + "0" * 64
    where.write_text(where.read_text().replace(made.manifest.identity, other))
    with pytest.raises(WrongIdentity, match=f"{made.manifest.identity}, found {other}"):
        verify(made)


@pytest.mark.parametrize("path", ["../up.wav", "a//b.wav", "/etc/passwd", "a/./b"])
def test_an_inventory_path_that_leaves_the_source(made: Opened, root: Path, path: str) -> None:
    """It is found, and not followed."""
    recordings = _recordings(root)

    def change(table: pa.Table) -> pa.Table:
        paths = pa.array([path, *table.column("path").to_pylist()[1:]])
        return table.set_column(0, table.schema.field(0), paths)

    forge(recordings, "inventory", change)
    with pytest.raises(Damaged, match="not a path below the source"):
        verify(recordings)


def test_features_without_their_recordings_still_verify(made: Opened, root: Path) -> None:
    """Counts are compared, and the warning says that paths are not."""
    shutil.rmtree(root / "recordings")
    assert "all as the manifest says" in verify(made)


def test_another_stages_manifest_is_refused(tmp_path: Path) -> None:
    """The kind is named."""
    cases = Path(__file__).parents[4] / "shared/contracts/conformance/cases"
    text = (cases / "shards-minimal/input/manifest.json").read_text()
    write_manifest(tmp_path, json.loads(text))
    with pytest.raises(WrongKind, match="shards"):
        verify_command(VerifySettings(manifest=str(tmp_path)))


def test_the_columns_are_those_of_the_contract(made: Opened) -> None:
    """Names, types and order, the feature's name last."""
    path = Path(made.folder.path, made.files("features")[0].path)
    expected = features_schema(made.manifest.recipe.feature)
    assert expected.equals(pq.read_schema(path))


def _recordings(root: Path) -> Opened:
    from audioloom_manifest.reader import read_manifest

    return read_manifest(str(next(root.glob("recordings/*"))), "recordings")


def against_librosa(opened: Opened, sample: int = 100) -> dict[str, object]:
    asked = VerifySettings(manifest=str(opened.location), against="librosa", sample=sample)
    return verify_command(asked).data["librosa"]


@pytest.mark.parametrize(
    "wish",
    [
        {"engine": "numpy"},
        {"engine": "native"},
        {"dtype": "float16"},
        {"windows": "all", "hop_seconds": 0.3, "channels": "split"},
        {"windows": "all", "level": "recording"},
    ],
    ids=str,
)
def test_a_sample_is_computed_anew_by_librosa(
    wish: dict[str, object], source: Path, root: Path
) -> None:
    """Whatever the recipe asks for; the largest difference is said."""
    opened = features_of(source, root, **wish)
    windows = opened.manifest.stats.windows

    every, some = against_librosa(opened), against_librosa(opened, sample=2)

    assert opened.manifest.stats.extracted == every["recordings"]
    assert windows == every["windows"]
    assert 2 == some["recordings"]
    assert 0 < every["deviation"] <= (5e-3 if "dtype" in wish else 1e-5)
    assert ", window " in every["where"]


def test_want_of_librosa_is_told_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install."""
    monkeypatch.setitem(sys.modules, "librosa", None)
    asked = VerifySettings(manifest="nowhere", against="librosa")
    with pytest.raises(MissingLibrary, match=r"--against librosa(.|\n)*pip install librosa"):
        verify_command(asked)


def test_values_that_are_not_librosas_are_told(made: Opened) -> None:
    """Finite, of the right shape, checksummed, and wrong."""

    def louder(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index("mfcc")
        values = [
            (np.frombuffer(value, "<f4") * np.float32(1.001)).tobytes()
            for value in table.column("mfcc").to_pylist()
        ]
        field = table.schema.field(at)
        return table.set_column(at, field, pa.array(values, field.type))

    forge(made, "features", louder)

    verify(made)
    with pytest.raises(Damaged, match=r"window 0 of channel -1: 0\.\d+ from librosa"):
        against_librosa(made)


def test_recordings_that_were_copied_anew_are_compared(made: Opened, source: Path) -> None:
    """With other times: their values tell whether they are as they were."""
    for path in source.rglob("*.wav"):
        os.utime(path, ns=(0, 5))
    against_librosa(made)


def test_recordings_that_changed_since_are_told(made: Opened, source: Path) -> None:
    """What cannot be read again cannot be compared, and that is no agreement."""
    for path in source.rglob("*.wav"):
        path.unlink()

    with pytest.raises(Damaged, match="expected to read it again, found missing"):
        against_librosa(made)
