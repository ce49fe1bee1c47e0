"""A ready inventory instead of a walk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.scan import scan as scan_command
from audioloom_featurizer.errors import DuplicateRecording, InvalidOption, NoRecordings
from audioloom_featurizer.settings import ScanSettings
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.tables import BadTable
from audioloom_storage import locate
from featurizer_work import PATTERN, scan

IMAGE = (
    "Path\tReplication\tModificationTime\tAccessTime\tPreferredBlockSize\tBlocksCount\tFileSize"
    "\tNSQUOTA\tDSQUOTA\tPermission\tUserName\tGroupName\n"
)


def opened(source: Path, root: Path, **more: Any) -> Opened:
    return read_manifest(str(scan(source, root, **more).text), "recordings")


def rows_of(found: Opened) -> pa.Table:
    return pq.read_table(found.folder.path + "/" + found.files("inventory")[0].path)


def listing(source: Path) -> pa.Table:
    """What a walk finds, in another order."""
    files = sorted(source.rglob("*.wav"), key=lambda path: path.name)
    return pa.table(
        {
            "size": [path.stat().st_size for path in files],
            "path": [str(path.relative_to(source)) for path in files],
            "modified_ns": [path.stat().st_mtime_ns for path in files],
        }
    )


def parquet_folder(table: pa.Table, where: Path) -> None:
    where.mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * 3, 3), where / f"part-{part}.parquet")


def full_uris(table: pa.Table, where: Path) -> None:
    source = where.parent / "source"
    starts = [f"{source}/", f"file://{source}/", f"file:{source}/"]
    paths = [starts[n % 3] + path for n, path in enumerate(table["path"].to_pylist())]
    pa.csv.write_csv(table.set_column(1, "path", [paths]), where)


@pytest.mark.parametrize(
    "write",
    [
        pa.csv.write_csv,
        pq.write_table,
        parquet_folder,
        full_uris,
        lambda table, where: pa.csv.write_csv(table.select(["path"]), where),
        lambda table, where: pa.csv.write_csv(table.select(["path", "size"]), where),
    ],
    ids=["csv", "parquet", "folder", "uris", "paths alone", "no times"],
)
def test_the_same_recordings_are_the_same_run(
    source: Path, root: Path, tmp_path: Path, write: Any
) -> None:
    """Walked or given, in whatever form and order: the same name, the same identity."""
    walked = opened(source, root).manifest
    write(listing(source), tmp_path / "given")
    given = opened(source, tmp_path / "other", inventory=str(tmp_path / "given")).manifest
    assert (walked.name, walked.identity) == (given.name, given.identity)


@pytest.mark.parametrize("path", ["../x.wav", "a/../x.wav", "", "/elsewhere/x.wav", "a//x.wav"])
def test_a_path_that_leaves_the_source_is_refused(
    source: Path, root: Path, tmp_path: Path, path: str
) -> None:
    """By row and file, before anything is written."""
    (tmp_path / "given.csv").write_text(f'path,size\nyes/s0-take.wav,1\n"{path}",1\n')
    with pytest.raises(BadTable, match=r"given\.csv, row 2, column path: expected a path below"):
        scan(source, root, inventory=str(tmp_path / "given.csv"))
    assert not root.exists()


@pytest.mark.parametrize("path", ["hdfs://node/x.wav", "s3://bucket/x.wav", "no/../../x.wav"])
def test_a_uri_elsewhere_is_refused(source: Path, root: Path, tmp_path: Path, path: str) -> None:
    """A table of another storage's files is no list of these."""
    (tmp_path / "given.csv").write_text(f"path\n{path}\n")
    with pytest.raises(BadTable, match="row 1"):
        scan(source, root, inventory=str(tmp_path / "given.csv"))


def test_a_recording_named_twice_is_refused(source: Path, root: Path, tmp_path: Path) -> None:
    """Also where the two rows write its path in two ways."""
    row = f"no/s1-take.wav,1,1\nyes/s0-take.wav,1,1\n{source}/no/s1-take.wav,1,1\n"
    (tmp_path / "given.csv").write_text(f"path,size,modified_ns\n{row}")
    with pytest.raises(DuplicateRecording, match=r"no/s1-take\.wav"):
        scan(source, root, inventory=str(tmp_path / "given.csv"))


def test_a_recording_that_is_gone_is_refused(source: Path, root: Path, tmp_path: Path) -> None:
    """Where its size has to be asked for; a listing that tells it is believed."""
    (tmp_path / "given.csv").write_text("path\nno/gone.wav\n")
    with pytest.raises(BadTable, match=r"no/gone\.wav"):
        scan(source, root, inventory=str(tmp_path / "given.csv"), pattern=None)


def test_names_are_chosen_as_in_a_walk(source: Path, root: Path, tmp_path: Path) -> None:
    """Hidden files and other endings are passed over and counted."""
    (tmp_path / "given.csv").write_text("path\nno/._x.wav\n.a/x.wav\nx.txt\nno/s1-take.wav\n")
    result = scan(source, root, inventory=str(tmp_path / "given.csv"))
    assert {"hidden": 2, "other": 1, "containers": 0, "left_out": 0, "elsewhere": 0} == result.data[
        "skipped"
    ]
    assert 1 == result.data["recordings"]


@pytest.mark.parametrize("image", [False, True])
def test_what_lies_beside_the_sources_is_not_listed(
    source: Path, root: Path, tmp_path: Path, image: bool
) -> None:
    """As in a walk of two folders or of a glob: the folder above them is not meant."""
    names = sorted(str(path.relative_to(source)) for path in source.rglob("*.wav"))
    text = "path\n" + "".join(f"{source}/{name}\n" for name in names)
    if image:
        row = "{}/{}\t2\t2026-01-31 12:05\tx\t134217728\t1\t44\t0\t0\t-rw-r--r--\th\tu\n"
        text = IMAGE + "".join(row.format(source, name) for name in names)
    (tmp_path / "given").write_text(text)
    for given, expected in (
        ([f"{source}/no", f"{source}/yes/s0-take.wav"], 4),
        ([f"{source}/*/s1-*"], 1),
    ):
        settings = ScanSettings(source=given, root=str(root), inventory=str(tmp_path / "given"))
        data = scan_command(settings).data
        assert expected == data["recordings"]
        assert not image or 7 - expected == data["skipped"]["elsewhere"]


@pytest.mark.parametrize("more", [{"containers": True}, {"source": ["zip://*.wav::{}"]}])
def test_a_table_lists_no_members(
    source: Path, root: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    """Neither of all containers nor of a chain: their recordings would be left out."""
    (tmp_path / "given.csv").write_text("path\nno/s1-take.wav\n")
    given = [each.format(source) for each in more.get("source", [str(source)])]
    asked = {**more, "source": given, "inventory": str(tmp_path / "given.csv")}
    with pytest.raises(InvalidOption, match="--inventory"):
        scan_command(ScanSettings(root=str(root), **asked))


def test_labels_may_stand_in_it(source: Path, root: Path, tmp_path: Path) -> None:
    """They are in the name of the run, and nothing else may say them too."""
    where = tmp_path / "given.csv"
    where.write_text("path,label,target,group\nno/s1-take.wav,a,,g\nno/s3-take.wav,,1.5,\n")
    first = opened(source, root, inventory=str(where), pattern=None)
    rows = rows_of(first).select(["label", "target", "group"]).to_pylist()
    assert [
        {"label": "a", "target": None, "group": "g"},
        {"label": None, "target": 1.5, "group": None},
    ] == rows
    where.write_text("path,label,target,group\nno/s1-take.wav,b,,g\nno/s3-take.wav,,1.5,\n")
    second = opened(source, root, inventory=str(where), pattern=None)
    assert first.manifest.recipe.listing_sha256 == second.manifest.recipe.listing_sha256
    assert first.manifest.name != second.manifest.name
    with pytest.raises(
        InvalidOption, match=r"two options give the label.*--pattern and --inventory"
    ):
        scan(source, root, inventory=str(where))


def test_an_empty_table(source: Path, root: Path, tmp_path: Path) -> None:
    """Names the table, not the folder."""
    (tmp_path / "given.csv").write_text("path\n")
    with pytest.raises(NoRecordings, match=r"given\.csv"):
        scan(source, root, inventory=str(tmp_path / "given.csv"))


def test_the_dump_of_an_fsimage(source: Path, root: Path, tmp_path: Path) -> None:
    """Folders are no files, other places are counted; times are of a minute."""

    def line(path: Path | str, size: int, kind: str = "-") -> str:
        block = 134217728 if kind == "-" else 0
        numbers = f"2\t2026-01-31 12:05\t2026-01-31 12:05\t{block}\t1\t{size}\t0\t0"
        return f"{path}\t{numbers}\t{kind}rw-r--r--\thdfs\tusers\n"

    dump = IMAGE + line("/", 0, "d") + line(source, 0, "d") + line(source / "no", 0, "d")
    dump += line("/other/x.wav", 5) + line(source / "no" / "s1-take.wav", 44)
    dump += line(source / "no" / "notes.txt", 7) + line(f"{source}-old/x.wav", 3)
    (tmp_path / "dump.tsv").write_text(dump)
    result = scan(source, root, inventory=str(tmp_path / "dump.tsv"))
    assert {"hidden": 0, "other": 1, "containers": 0, "left_out": 0, "elsewhere": 2} == result.data[
        "skipped"
    ]
    rows = rows_of(read_manifest(str(result.text))).to_pylist()
    assert ["no/s1-take.wav"] == [row["path"] for row in rows]
    assert [(44, 1769861100_000000000)] == [(row["size"], row["modified_ns"]) for row in rows]


def test_a_dump_with_a_strange_time(source: Path, root: Path, tmp_path: Path) -> None:
    """Its row is named."""
    line = f"{source}/no/s1-take.wav\t2\tyesterday\tx\t1\t1\t4\t0\t0\t-rw\th\tu\n"
    (tmp_path / "dump.tsv").write_text(IMAGE + line)
    with pytest.raises(BadTable, match=r"row 1, column ModificationTime.*yesterday"):
        scan(source, root, inventory=str(tmp_path / "dump.tsv"))


def test_a_run_of_a_given_inventory(source: Path, root: Path, tmp_path: Path) -> None:
    """Reads the recordings that it names, and no others."""
    from featurizer_work import run

    (tmp_path / "given.csv").write_text("path\nno/s1-take.wav\nno/s3-take.wav\n")
    recordings = scan(source, root, inventory=str(tmp_path / "given.csv"))
    assert 2 == run(str(recordings.text)).data["extracted"]


def test_the_pattern_is_the_same(source: Path, root: Path, tmp_path: Path) -> None:
    """Paths are matched from the source on, however the table writes them."""
    full_uris(listing(source), tmp_path / "given.csv")
    found = opened(source, root, inventory=str(tmp_path / "given.csv"), pattern=PATTERN)
    assert {"no": 3, "yes": 4} == found.manifest.stats.labels
    assert locate(source).uri == found.manifest.recipe.source
    assert os.sep not in found.manifest.name
