"""Addresses at which no cluster answers."""

import os
import subprocess
import sys

import pytest

# In a process of its own: one that other tests have used knows a cluster already.
STAT = """
import sys
from audioloom_storage import StorageError, locate, stat
try:
    stat(locate(sys.argv[1]))
except StorageError as error:
    print(*(each.__name__ for each in type(error).__mro__))
    print(error.where, bool(error.hint or error.expected), error, sep="\\n")
"""


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("hdfs://127.0.0.1:1/a", "Unavailable", "no NameNode answered: Connection refused"),
        ("webhdfs://127.0.0.1:1/a", "Unavailable", "Connection refused"),
        ("hdfs://no.such.host.invalid:8020/a", "Unavailable", "no NameNode answered"),
        ("webhdfs:///a", "NotConfigured", "names no host"),
        ("hdfs:///a", "NotConfigured", "HADOOP_CONF_DIR is not set"),
        ("hdfs://nameservice/a", "NotConfigured", "HADOOP_CONF_DIR is not set"),
    ],
)
def test_a_wrong_address_is_told_at_once(text: str, kind: str, said: str) -> None:
    """Which, and what to do; not after minutes of trying again."""
    unset = ("HADOOP_CONF_DIR", "HADOOP_HOME")
    variables = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-c", STAT, text]
    ran = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    kinds, where, helps, *words = ran.stdout.splitlines()
    assert kind in kinds.split()
    assert (text, "True") == (where, helps)
    assert said in "\n".join(words)
