"""Addresses at which no cluster answers."""

import pytest
from audioloom_storage import NotConfigured, StorageError, Unavailable, locate, stat


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("hdfs://127.0.0.1:1/a", Unavailable, "no NameNode answered: Connection refused"),
        ("webhdfs://127.0.0.1:1/a", Unavailable, "Connection refused"),
        ("hdfs://no.such.host.invalid:8020/a", Unavailable, "no NameNode answered"),
        ("webhdfs:///a", NotConfigured, "names no host"),
        ("hdfs:///a", NotConfigured, "HADOOP_CONF_DIR is not set"),
        ("hdfs://nameservice/a", NotConfigured, "HADOOP_CONF_DIR is not set"),
    ],
)
def test_a_wrong_address_is_told_at_once(
    text: str, kind: type[StorageError], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which, and what to do; not after minutes of trying again."""
    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(kind, match=said) as caught:
        stat(locate(text))
    assert text == caught.value.where
    assert caught.value.hint or caught.value.expected
