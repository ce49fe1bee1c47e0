"""Who we are: delegation tokens of a real NameNode, and a cluster that wants Kerberos of us.

There is no Kerberos here. The NameNode hands out tokens all the same (`--tokens`), and takes them
from whoever is configured for Kerberos; one that wants a ticket is played by its first answer.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import (
    Location,
    NotConfigured,
    PermissionDenied,
    StorageError,
    Unavailable,
    make_folder,
)
from audioloom_storage._hdfs_tokens import VARIABLE, name_with_token

PUBLISH = """
import sys
from audioloom_storage import is_own, locate, publish
file = locate(sys.argv[1])
publish(file, b"")
print(is_own(file))
"""
LOOK = """
import sys, time
from audioloom_storage import StorageError, locate, stat
begin = time.monotonic()
try:
    stat(locate(sys.argv[1]))
except StorageError as error:
    print(type(error).__name__, error)
assert time.monotonic() - begin < 20
"""


@pytest.fixture(scope="module")
def secure(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of this cluster, as one with Kerberos has it."""
    folder = tmp_path_factory.mktemp("secure")
    line = "<property><name>hadoop.security.authentication</name><value>kerberos</value></property>"
    for name in ("core-site.xml", "hdfs-site.xml"):
        text = Path(cluster.running.conf, name).read_text()
        (folder / name).write_text(text.replace("</configuration>", f"{line}</configuration>"))
    return folder


@pytest.fixture(scope="module")
def token(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a token of the user alice."""
    path = tmp_path_factory.mktemp("token") / "tokens"
    variables = {**cluster.running.variables, "HADOOP_USER_NAME": "alice"}
    words = ["hdfs", "fetchdt", "--renewer", "nobody", str(path)]
    subprocess.run(words, check=True, env=variables, capture_output=True)
    return path


@pytest.fixture
def open_folder(cluster: Any) -> Location:
    """A folder where everybody may write."""
    folder: Location = cluster.hdfs / f"tests/{os.urandom(8).hex()}"
    make_folder(folder)
    words = ["hdfs", "dfs", "-chmod", "777", folder.path]
    subprocess.run(words, check=True, env=cluster.running.variables)
    return folder


def run(script: str, uri: str, conf: Path, **variables: str) -> str:
    """What a process of the user bob prints."""
    given = {"HADOOP_CONF_DIR": str(conf), "HADOOP_USER_NAME": "bob", **variables}
    words = [sys.executable, "-c", script, uri]
    return subprocess.run(
        words, check=True, env={**os.environ, **given}, capture_output=True, text=True
    ).stdout


def owner(cluster: Any, location: Location) -> str:
    from hdfs_native import Client

    return str(Client(str(cluster.hdfs)).get_file_info(location.path).owner)


def renamed(token: Path, old: str, new: str, target: Path) -> Path:
    """The same token, of a NameNode with another name."""
    before, after = (bytes([len(name)]) + name.encode() for name in (old, new))
    data = token.read_bytes()
    assert before in data
    target.write_bytes(data.replace(before, after))
    return target


def test_a_token_says_who_we_are(
    cluster: Any, open_folder: Location, secure: Path, token: Path
) -> None:
    """Not the variable, which a cluster with Kerberos does not believe; named or by default."""
    for name, system in (("named", cluster.hdfs), ("default", Location("hdfs", "", "/"))):
        file = open_folder / name
        uri = Location("hdfs", system.authority, file.path).uri
        assert "True\n" == run(PUBLISH, uri, secure, **{VARIABLE: token})
        assert "alice" == owner(cluster, file)
    assert "True\n" == run(PUBLISH, (open_folder / "without").uri, secure)
    assert "bob" == owner(cluster, open_folder / "without")


def test_a_token_is_found_by_address(
    cluster: Any, relay: Any, open_folder: Location, secure: Path, token: Path, tmp_path: Path
) -> None:
    """Java gives it the address of a NameNode that the location names by its host."""
    with relay(cluster.hdfs.authority) as way:
        port = way.address.rpartition(":")[2]
        theirs = renamed(token, cluster.hdfs.authority, way.address, tmp_path / "tokens")
        file = Location("hdfs", f"localhost:{port}", (open_folder / "file").path)
        run(PUBLISH, file.uri, secure, **{VARIABLE: str(theirs)})
    assert "alice" == owner(cluster, file)


def test_other_names_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without tokens, with those of others, and for a name that is no host."""
    for tokens in (None, b"HDTS\0\x01\x0b10.0.0.1:80", b"HDTS\1\x0clocalhost:80"):
        monkeypatch.delenv(VARIABLE, raising=False)
        if tokens is not None:
            (tmp_path / "tokens").write_bytes(tokens)
            monkeypatch.setenv(VARIABLE, str(tmp_path / "tokens"))
        for name in ("localhost:80", "nameservice", "no.such.host.invalid:80", "a" * 300 + ":80"):
            assert name == name_with_token(name)


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (None, NotConfigured, "No such file"),
        (b"", NotConfigured, "no file of delegation tokens"),
        (b"<xml/>", NotConfigured, "no file of delegation tokens"),
    ],
)
def test_a_file_that_holds_no_tokens(
    data: bytes | None,
    kind: type[StorageError],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It is told, with the variable that names it: hdfs-native would go on without."""
    path = tmp_path / "tokens"
    if data is not None:
        path.write_bytes(data)
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(kind, match=said) as caught:
        name_with_token("namenode:8020")
    assert f"{VARIABLE}={path}" == caught.value.where


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_file_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another user's container."""
    path = tmp_path / "tokens"
    path.write_bytes(b"HDTS\0\0")
    path.chmod(0)
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(PermissionDenied, match=VARIABLE):
        name_with_token("namenode:8020")


def test_a_file_that_was_cut_off(cluster: Any, secure: Path, token: Path, tmp_path: Path) -> None:
    """Of which hdfs-native dies: an error like others, and no end of the process."""
    (tmp_path / "tokens").write_bytes(token.read_bytes()[:40])
    told = run(LOOK, cluster.hdfs.uri, secure, **{VARIABLE: str(tmp_path / "tokens")})
    assert Unavailable.__name__ in told
    assert VARIABLE in told


def test_no_ticket_is_told_at_once(
    secure: Path, token: Path, wants_kerberos: str, tmp_path: Path
) -> None:
    """What is missing and what to do, without a ticket and with a token of another cluster."""
    variables = {"KRB5CCNAME": f"FILE:{tmp_path}/none"}
    for more in ({}, {VARIABLE: str(token)}):
        told = run(LOOK, f"hdfs://{wants_kerberos}/a", secure, **variables, **more)
        assert PermissionDenied.__name__ in told
        assert "No Kerberos credentials available" in told
        assert "kinit" in told
        assert "GSS_S" not in told


@pytest.fixture
def wants_kerberos() -> Iterator[str]:
    """The address of what answers as a NameNode that takes nothing but tickets."""
    answer = b"".join(
        (
            sized(b"\x08" + b"\xdf\xff\xff\xff\x0f" + b"\x10\x00"),  # of call -33: success
            sized(b"\x10\x01" + numbered(4, kerberos())),  # negotiate: one way
        )
    )
    held = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                held.append(client)
                client.recv(1000)
                client.sendall(struct.pack(">I", len(answer)) + answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    for client in held:
        client.close()


def kerberos() -> bytes:
    texts = (b"KERBEROS", b"GSSAPI", b"nn", b"localhost")
    return b"".join(numbered(number, text) for number, text in enumerate(texts, start=1))


def numbered(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + sized(data)


def sized(data: bytes) -> bytes:
    return bytes([len(data)]) + data
