"""Who we are: delegation tokens of a real NameNode, and a cluster that wants Kerberos of us.

There is no Kerberos here. The NameNode hands out tokens all the same (`--tokens`), and takes them
from whoever is configured for Kerberos; one that wants a ticket is played by its first answer.
"""

from __future__ import annotations

import math
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audioloom_mini_cluster.client import running
from audioloom_storage import (
    Location,
    NotConfigured,
    PermissionDenied,
    StorageError,
    make_folder,
)
from audioloom_storage.remote.delegation_tokens import VARIABLE, name_with_token, parse_tokens
from storage_cluster import Cluster, Relay

PUBLISH = """
import sys
from audioloom_storage import is_own, locate, publish
file = locate(sys.argv[1])
publish(file, b"")
print(is_own(file))
"""
LOOK = """
import sys
from audioloom_storage import StorageError, locate, stat
from audioloom_storage.remote import retry
retry.RETRY_SECONDS = 3600  # to wait for it is to run out of time
try:
    stat(locate(sys.argv[1]))
except StorageError as error:
    print(type(error).__name__, error)
"""


WEEKS = f"""
import os, sys, time
from pathlib import Path
from audioloom_storage import PermissionDenied, locate, publish
folder, file, now = locate(sys.argv[1]), Path(os.environ["{VARIABLE}"]), time.time
publish(folder / "first", b"")
fresh = file.read_bytes()
time.time = lambda: now() + 8 * 24 * 3600
for _ in range(2):
    try:
        publish(folder / "late", b"")
    except PermissionDenied as error:
        print("PermissionDenied", "expired" if "has expired" in str(error) else error)
time.time = now  # as good as a token that ends a week later
publish(folder / "last", b"")
print("done")
"""
AT_WORK = """
import sys
from audioloom_storage import StorageError, locate, publish, stat
publish(locate(sys.argv[1]) / "file", b"")
print("works", flush=True)
sys.stdin.readline()
try:
    stat(locate(sys.argv[1]) / "file")
except StorageError as error:
    print(type(error).__name__, error)
"""


def of_alice(service: str, *, lives_s: int) -> bytes:
    """A file with a token that was issued an hour before it ends."""
    ends = round((time.time() + lives_s) * 1000)
    times = b"".join(b"\x8a" + at.to_bytes(6) for at in (ends - 3600_000, ends))
    identifier = b"\0\x05alice\x06nobody\0" + times + b"\1\2"
    parts = (b"alias", identifier, b"password", b"HDFS_DELEGATION_TOKEN", service.encode())
    return b"HDTS\0\1" + b"".join(sized(part) for part in parts) + b"\0"


def fetch(cluster: Cluster, path: Path) -> None:
    """Get a token of the user alice."""
    path.unlink(missing_ok=True)
    variables = {**cluster.running.variables, "HADOOP_USER_NAME": "alice"}
    words = ["hdfs", "fetchdt", "--renewer", "nobody", str(path)]
    subprocess.run(words, check=True, env=variables, capture_output=True)


@pytest.fixture(scope="module")
def secure_for(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes the configuration of a cluster, as one with Kerberos has it."""

    def made(running: Any) -> Path:
        folder = tmp_path_factory.mktemp("secure")
        name, value = "hadoop.security.authentication", "kerberos"
        line = f"<property><name>{name}</name><value>{value}</value></property>"
        for file in ("core-site.xml", "hdfs-site.xml"):
            text = Path(running.conf, file).read_text()
            (folder / file).write_text(text.replace("</configuration>", f"{line}</configuration>"))
        return folder

    return made


@pytest.fixture(scope="module")
def secure(cluster: Cluster, secure_for: Any) -> Any:
    """The configuration of this cluster."""
    return secure_for(cluster.running)


@pytest.fixture(scope="module")
def token(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a token of the user alice."""
    path = tmp_path_factory.mktemp("token") / "tokens"
    fetch(cluster, path)
    return path


@pytest.fixture
def open_folder(cluster: Cluster) -> Location:
    """A folder where everybody may write."""
    folder: Location = cluster.hdfs / f"tests/{os.urandom(8).hex()}"
    make_folder(folder)
    words = ["hdfs", "dfs", "-chmod", "777", folder.path]
    subprocess.run(words, check=True, env=cluster.running.variables)
    return folder


def run(script: str, uri: str, conf: Path, **variables: str) -> str:
    """What a process of the user bob prints."""
    words, env = [sys.executable, "-c", script, uri], as_bob(conf, **variables)
    done = subprocess.run(
        words, check=True, env=env, stdout=subprocess.PIPE, text=True, timeout=600
    )
    return done.stdout


def as_bob(conf: Path, **variables: str) -> dict[str, str]:
    return {**os.environ, "HADOOP_CONF_DIR": str(conf), "HADOOP_USER_NAME": "bob", **variables}


def owner(cluster: Cluster, location: Location) -> str:
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
    cluster: Cluster, open_folder: Location, secure: Path, token: Path
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
    cluster: Cluster, open_folder: Location, secure: Path, token: Path, tmp_path: Path
) -> None:
    """Java gives it the address of a NameNode that the location names by its host."""
    with Relay(cluster.hdfs.authority) as way:
        port = way.address.rpartition(":")[2]
        theirs = renamed(token, cluster.hdfs.authority, way.address, tmp_path / "tokens")
        file = Location("hdfs", f"localhost:{port}", (open_folder / "file").path)
        run(PUBLISH, file.uri, secure, **{VARIABLE: str(theirs)})
    assert "alice" == owner(cluster, file)


def test_other_names_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without tokens, with those of others, and for a name that is no host."""
    for tokens in (None, b"HDTS\0\0\0", b"HDTS\1\0", of_alice("10.0.0.1:80", lives_s=9999)):
        monkeypatch.delenv(VARIABLE, raising=False)
        if tokens is not None:
            (tmp_path / "tokens").write_bytes(tokens)
            monkeypatch.setenv(VARIABLE, str(tmp_path / "tokens"))
        for name in ("localhost:80", "nameservice", "no.such.host.invalid:80", "a" * 300 + ":80"):
            assert (name, math.inf) == name_with_token(name)


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (None, NotConfigured, "No such file"),
        (b"", NotConfigured, "no file of delegation tokens"),
        (b"<xml/>", NotConfigured, "no file of delegation tokens"),
        (b"HDTS\2", NotConfigured, "no file of delegation tokens"),
        (b"HDTS\0\1", NotConfigured, "is cut off or damaged"),
        (b"HDTS\1\x80", NotConfigured, "is cut off or damaged"),
        (b"HDTS\1\2\x08\0", NotConfigured, "is damaged"),
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


@pytest.mark.parametrize("form", ["java", "protobuf"])
def test_what_a_file_says_of_a_token(cluster: Cluster, tmp_path: Path, form: str) -> None:
    """As Hadoop writes it, in either form: whose it is, for whom, and how long it lives."""
    path = tmp_path / "tokens"
    fetch(cluster, path)
    variables = cluster.running.variables
    words = ["hdfs", "classpath"]
    jars = subprocess.run(words, env=variables, check=True, capture_output=True, text=True).stdout
    java = Path(variables["JAVA_HOME"], "bin/java")
    dtutil = [java, "-cp", jars.strip(), "org.apache.hadoop.security.token.DtUtilShell"]
    words = ["append", "-format", form, path]
    subprocess.run([*dtutil, *words], env=variables, check=True, capture_output=True)
    assert b"HDTS" + bytes([form == "protobuf"]) == path.read_bytes()[:5]
    (found,) = parse_tokens(path.read_bytes())
    assert (cluster.hdfs.authority, "alice") == (found.service, found.owner)
    assert 7 * 24 * 3600 == found.ends - found.issued
    assert abs(found.issued - path.stat().st_mtime) < 3600
    for size in range(5, path.stat().st_size - 3):  # nothing is said of secret keys, which follow
        with pytest.raises(ValueError, match="cut off or damaged"):
            parse_tokens(path.read_bytes()[:size])


def test_a_file_that_was_cut_off(
    cluster: Cluster, secure: Path, token: Path, tmp_path: Path
) -> None:
    """Of which hdfs-native dies: it is told before."""
    (tmp_path / "tokens").write_bytes(token.read_bytes()[:40])
    told = run(LOOK, cluster.hdfs.uri, secure, **{VARIABLE: str(tmp_path / "tokens")})
    assert NotConfigured.__name__ in told
    assert VARIABLE in told


@pytest.mark.parametrize("lives_s", [-1, 30])
def test_an_expired_token_is_refused_before_anything_is_asked(
    secure: Path, tmp_path: Path, lives_s: int
) -> None:
    """Whose, for how long and what to do; hdfs-native passes over it and goes on as bob."""
    tokens = tmp_path / "tokens"
    tokens.write_bytes(of_alice("127.0.0.1:1", lives_s=lives_s))
    told = run(LOOK, "hdfs://127.0.0.1:1/a", secure, **{VARIABLE: str(tokens)})
    assert told.startswith(f"{PermissionDenied.__name__} {VARIABLE}={tokens}: the delegation token")
    assert "of alice for 127.0.0.1:1 has expired: it lived 1:00:00, until 2" in told
    assert "the same command goes on where it stopped" in told


def test_a_token_that_expires_meanwhile(
    cluster: Cluster, open_folder: Location, secure: Path, token: Path, tmp_path: Path
) -> None:
    """A connection does not outlive its token; with a fresh one in the file, work goes on."""
    tokens = tmp_path / "tokens"
    shutil.copy(token, tokens)
    told = run(WEEKS, open_folder.uri, secure, **{VARIABLE: str(tokens)})
    assert ["PermissionDenied", "expired", "PermissionDenied", "expired", "done"] == told.split()
    assert "alice" == owner(cluster, open_folder / "first")
    assert "alice" == owner(cluster, open_folder / "last")


def test_a_token_that_the_namenode_knows_no_more(
    cluster: Cluster, secure: Path, tmp_path: Path
) -> None:
    """Cancelled, or forgotten some time after it expired."""
    tokens = tmp_path / "tokens"
    fetch(cluster, tokens)
    variables = {**cluster.running.variables, "HADOOP_USER_NAME": "alice"}
    words = ["hdfs", "fetchdt", "--cancel", str(tokens)]
    subprocess.run(words, check=True, env=variables, capture_output=True)
    told = run(LOOK, cluster.hdfs.uri, secure, **{VARIABLE: str(tokens)})
    assert told.startswith(PermissionDenied.__name__)
    assert "of alice for" in told
    assert "has expired or was cancelled: it was issued 0:0" in told
    assert "Get a fresh token" in told


@pytest.mark.slow
def test_a_token_that_nobody_renewed(cluster: Cluster, secure_for: Any, tmp_path: Path) -> None:
    """The NameNode's own word: in a running process too, once it has to connect anew."""
    with running("--hdfs-only", "--nodes=1", "--token-seconds=20") as found:
        cluster, tokens = replace(cluster, running=found), tmp_path / "tokens"
        secure = secure_for(found)
        words = ["hdfs", "dfs", "-chmod", "777", "/"]
        subprocess.run(words, check=True, env=found.variables)
        fetch(cluster, tokens)
        (token,) = parse_tokens(tokens.read_bytes())
        process = subprocess.Popen(
            [sys.executable, "-c", AT_WORK, found.hdfs],
            env=as_bob(secure, **{VARIABLE: str(tokens)}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert "works\n" == process.stdout.readline()
        while time.time() < token.issued + 21:
            time.sleep(0.5)
        told = run(LOOK, f"{found.hdfs}/file", secure, **{VARIABLE: str(tokens)})
        assert told.startswith(PermissionDenied.__name__)
        assert "of alice for" in told
        assert "has expired: it lived 0:00:20, until 2" in told
        with found.without("namenode"):
            pass  # one that has started since then knows no such token
        told, _ = process.communicate("\n")
        assert told.startswith(PermissionDenied.__name__)
        assert "of alice for" in told
        assert "has expired or was cancelled: it was issued 0:0" in told
        fetch(cluster, tokens)
        run(PUBLISH, f"{found.hdfs}/fresh", secure, **{VARIABLE: str(tokens)})
        with found.exported():
            assert "alice" == owner(cluster, cluster.hdfs / "fresh")


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
