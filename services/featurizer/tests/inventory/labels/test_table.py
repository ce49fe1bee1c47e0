"""Labels from tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.errors import BadLabels, InvalidOption, Unlabelled
from audioloom_featurizer.settings import VerifySettings
from audioloom_manifest.reader import read_manifest
from audioloom_manifest.tables import BadTable
from audioloom_stage.result import Result
from featurizer_work import scan

KEYED = r"(?P<group>[^/]+)/(?P<key>s\d+)-.*"


def table(tmp_path: Path, text: str) -> str:
    (tmp_path / "labels.csv").write_text(text)
    return str(tmp_path / "labels.csv")


def said(result: Result) -> dict[str, Any]:
    """Label, target and group by file name."""
    opened = read_manifest(str(result.text), "recordings")
    where = Path(opened.folder.path, opened.files("inventory")[0].path)
    return {
        row["path"].partition("/")[2]: (row["label"], row["target"], row["group"])
        for row in pq.read_table(where).to_pylist()
        if (row["label"], row["target"], row["group"]) != (None, None, None)
    }


@pytest.mark.parametrize(
    ("by", "key"),
    [
        ("path", "no/s1-take.wav"),
        ("path", "{source}/no/s1-take.wav"),
        ("name", "s1-take.wav"),
        ("stem", "s1-take"),
    ],
)
def test_what_recordings_are_known_by(
    source: Path, root: Path, tmp_path: Path, by: str, key: str
) -> None:
    """A row is for the recordings that have its key, the rest stays unlabelled."""
    labels = table(tmp_path, f"{by},label,target,group\n{key.format(source=source)},a,0.5,g\n")
    result = scan(source, root, pattern=None, labels=labels, labels_by=by)
    assert {"s1-take.wav": ("a", 0.5, "g")} == said(result)
    assert (1, 6) == (result.data["labelled"], result.data["unlabelled"])
    assert verify(VerifySettings(manifest=str(result.text))).data["problems"] == []


def test_a_key_that_the_pattern_names(source: Path, root: Path, tmp_path: Path) -> None:
    """What the pattern says besides stays; columns may have any name."""
    labels = table(tmp_path, "id,class\ns1,a\ns4,b\ns99,c\n")
    columns = {"key": "id", "label": "class"}
    result = scan(
        source, root, pattern=KEYED, labels=labels, labels_by="key", labels_columns=columns
    )
    found = said(result)
    assert [("a", None, "no"), ("b", None, "yes")] == [
        found["s1-take.wav"],
        found["s4-take.wav"],
    ]
    assert {"keys": 1, "examples": ["s99"]} == result.data["labels_of_none"]


def test_rows_that_contradict_each_other_are_refused(
    source: Path, root: Path, tmp_path: Path
) -> None:
    """With examples; the same row twice is one."""
    twice = "path,label\nno/s1-take.wav,a\nyes/s0-take.wav,b\nno/s1-take.wav,a\n"
    result = scan(source, root, pattern=None, labels=table(tmp_path, twice))
    assert 2 == result.data["labelled"]
    torn = table(tmp_path, twice + "no/s1-take.wav,\n")
    with pytest.raises(BadLabels, match=r"differ for 'no/s1-take\.wav'"):
        scan(source, root, pattern=None, labels=torn)


def test_several_recordings_of_one_key(source: Path, root: Path, tmp_path: Path) -> None:
    """What is said of a name holds for all that have it."""
    (source / "other").mkdir()
    (source / "other" / "s1-take.wav").write_bytes(b"x")
    labels = table(tmp_path, "name,label\ns1-take.wav,a\n")
    result = scan(source, root, pattern=None, labels=labels, labels_by="name")
    assert 2 == result.data["labelled"]


def test_labels_of_no_recording_are_refused(source: Path, root: Path, tmp_path: Path) -> None:
    """Not one matches: the wrong column, most likely. The keys of the table are shown."""
    labels = table(tmp_path, "path,label\ns1-take.wav,a\n")
    with pytest.raises(
        BadLabels, match=r"the path of recordings, found 's1-take\.wav'.*--labels-by"
    ):
        scan(source, root, pattern=None, labels=labels)


@pytest.mark.parametrize(
    ("more", "text", "error", "complaint"),
    [
        ({}, "path,class\nx,y\n", BadTable, "label=COLUMN"),
        ({}, "file,label\nx,y\n", BadTable, "a column path"),
        ({}, "path,label\n,y\n", BadTable, "row 1, column path: expected a key"),
        ({}, "path,target\nx,much\n", BadTable, "row 1, column target.*'much'"),
        ({"labels_columns": {"label": "no"}}, "path,label\nx,y\n", BadTable, "a column no"),
        ({"labels_by": "key"}, "key,label\nx,y\n", InvalidOption, "--pattern with"),
        (
            {"labels_by": "key", "pattern": "(?P<group>.*)"},
            "key,label\nx,y\n",
            InvalidOption,
            "group \\(\\?P<key>",
        ),
        (
            {"pattern": "(?P<label>.*)"},
            "path,label\nx,y\n",
            InvalidOption,
            "--pattern and --labels",
        ),
    ],
    ids=range(8),
)
def test_tables_that_say_nothing_here(
    source: Path,
    root: Path,
    tmp_path: Path,
    more: dict[str, Any],
    text: str,
    error: type[Exception],
    complaint: str,
) -> None:
    """Refused with the column, the row or the flag."""
    with pytest.raises(error, match=f"(?s){complaint}"):
        scan(source, root, labels=table(tmp_path, text), **{"pattern": None, **more})
    assert not root.exists()


def test_what_is_said_is_in_the_name(source: Path, root: Path, tmp_path: Path) -> None:
    """And nothing else of the table: rows of other recordings, or their order, change nothing."""
    text = "path,label\nno/s1-take.wav,a\nno/s3-take.wav,b\n"
    first = scan(source, root, pattern=None, labels=table(tmp_path, text))
    longer = "path,x,label\nelse.wav,1,z\nno/s3-take.wav,2,b\nno/s1-take.wav,3,a\n"
    again = scan(source, root, pattern=None, labels=table(tmp_path, longer))
    assert (first.data["name"], True) == (again.data["name"], again.data["already_committed"])
    other = scan(source, root, pattern=None, labels=table(tmp_path, text.replace(",b", ",c")))
    assert first.data["name"] != other.data["name"]


def test_unlabelled_recordings_are_kept_refused_or_dropped(
    source: Path, root: Path, tmp_path: Path
) -> None:
    """By choice, and counted each time."""
    given = {"pattern": None, "labels": table(tmp_path, "path,label\nno/s1-take.wav,a\n")}
    kept = scan(source, root, **given)
    assert (7, 6, 0) == tuple(kept.data[key] for key in ("recordings", "unlabelled", "dropped"))
    with pytest.raises(Unlabelled, match=r"6 without, such as no/s3-take\.wav"):
        scan(source, root, unlabelled="refuse", **given)
    dropped = scan(source, root, unlabelled="drop", **given)
    assert (1, 0, 6) == tuple(dropped.data[key] for key in ("recordings", "unlabelled", "dropped"))
    stats = read_manifest(str(dropped.text), "recordings").manifest.stats
    assert (1, 6) == (stats.recordings, stats.dropped)
    assert [] == verify(VerifySettings(manifest=str(dropped.text))).data["problems"]


def test_refusing_what_is_not_there_changes_nothing(source: Path, root: Path) -> None:
    """Where all have a label, it is the run that it would be anyway."""
    names = {scan(source, root, unlabelled=how).data["name"] for how in ("keep", "refuse")}
    assert 1 == len(names)
