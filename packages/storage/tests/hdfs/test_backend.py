from __future__ import annotations

from pathlib import Path

import pytest
from audioloom_storage.hdfs.backend import default_replication, umask


@pytest.mark.parametrize(
    ("text", "expected"),
    [("077", 0o077), ("22", 0o022), ("0027", 0o027), (" 000 ", 0), ("u=rwx,g=rx,o=", 0o077)],
)
def test_the_umask_of_the_cluster(
    text: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not understood is taken for the strictest."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert 0o022 == umask()
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    assert 0o022 == umask()
    (tmp_path / "hdfs-site.xml").write_text(
        "<configuration><property><name>fs.permissions.umask-mode</name>"
        f"<value>{text}</value></property></configuration>"
    )
    assert expected == umask()


@pytest.mark.parametrize(
    ("text", "expected"), [("", None), ("two", None), ("0", None), ("-1", None), (" 2 ", 2)]
)
def test_the_replication_of_the_cluster(
    text: str, expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it says nothing that could be meant, the NameNode decides."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert default_replication() is None
    (tmp_path / "hdfs-site.xml").write_text(
        "<configuration><property><name>dfs.replication</name>"
        f"<value>{text}</value></property></configuration>"
    )
    assert expected == default_replication()


def test_without_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Hadoop comes."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    assert 0o022 == umask()
    assert default_replication() is None
