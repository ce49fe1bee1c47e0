"""Labels from a database, by JDBC: a real SQLite, and a real PostgreSQL."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from audioloom_featurizer.errors import InvalidOption, MissingLibrary
from audioloom_featurizer.inventory.labels.jdbc import (
    driver_jars,
    with_password,
    without_parameters,
)
from audioloom_featurizer.settings import ScanSettings
from audioloom_manifest.reader import read_manifest
from audioloom_mini_cluster.errors import JarsMissing
from audioloom_mini_cluster.jars import Jar, default_cache, ensure
from audioloom_spark.java import find_java
from audioloom_stage.errors import NoPermission, ServiceDown
from featurizer_work import scan

SQLITE = Jar(
    "org.xerial",
    "sqlite-jdbc",
    "3.46.1.3",
    "",
    "4a4832720a65eaf7f4d6fd7ede52087b994dc5633c076f9e994dc0c8b4b0b4fa",
)
POSTGRES = Jar(
    "org.postgresql",
    "postgresql",
    "42.7.4",
    "",
    "188976721ead8e8627eb6d8389d500dccc0c9bebd885268a3047180274a6031e",
)
PASSWORD = "only-for-this-test"  # noqa: S105


def jar(which: Jar) -> str:
    """The driver, fetched once and kept; a test that cannot have it says so."""
    try:
        return str(ensure(which.artifact, (which,), default_cache(), java=find_java()) / which.file)
    except JarsMissing as error:
        pytest.skip(f"needs {which.artifact} of Maven Central: {error}")


def asked(**given: Any) -> Any:
    return with_password(ScanSettings(source="s", root="r", **given))


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"labels_jdbc": "jdbc:sqlite:x"}, "--labels-query"),
        ({"labels_query": "SELECT 1"}, "--labels-jdbc"),
        ({"labels_jdbc": "sqlite:x", "labels_query": "q"}, "jdbc:postgresql"),
        ({"labels_jdbc": "jdbc:sqlite:x", "labels_query": "q", "labels": "t.csv"}, "both"),
        (
            {
                "labels_jdbc": "jdbc:sqlite:x",
                "labels_query": "q",
                "jdbc_password": "p",
                "jdbc_password_file": "f",
            },
            "twice",
        ),
    ],
)
def test_half_of_what_is_needed_is_refused(given: dict[str, Any], complaint: str) -> None:
    """Before anything starts."""
    with pytest.raises(InvalidOption, match=complaint):
        asked(**given)


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://host/db?user=u&password=hush",
        "jdbc:sqlserver://host;PWD=hush",
        "jdbc:mysql://u:hush@host/db",
        "jdbc:oracle:thin:u/hush@host:1521/db",
    ],
)
def test_a_url_with_a_password_is_refused(url: str) -> None:
    """Everyone on the machine sees the command line; the error does not repeat it."""
    with pytest.raises(InvalidOption, match="holds a password") as caught:
        asked(labels_jdbc=url, labels_query="q")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("url", ["jdbc:postgresql://host:5432/db?ssl=true", "jdbc:sqlite:/a/b.db"])
def test_a_url_without_is_taken(url: str) -> None:
    """And shown without its parameters."""
    found = asked(labels_jdbc=url, labels_query="q", jdbc_jar=["a:b:1", "/x/y.jar"])
    assert url.partition("?")[0] == without_parameters(found.labels_jdbc)
    assert {"spark.jars": "/x/y.jar", "spark.jars.packages": "a:b:1"} == driver_jars(found)


def test_a_password_from_a_file(tmp_path: Path) -> None:
    """Without its line's end; whoever prints it sees stars."""
    (tmp_path / "p").write_text("hush \n")
    given = {"labels_jdbc": "jdbc:sqlite:x", "labels_query": "q"}
    found = asked(jdbc_password_file=str(tmp_path / "p"), **given)
    assert "hush " == found.jdbc_password.get_secret_value()
    assert "hush" not in repr(found)


@pytest.mark.slow
# Older pyspark leaves the socket of a job's result to the garbage collector, on purpose.
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_labels_of_a_sqlite_database(source: Path, root: Path, tmp_path: Path) -> None:
    """Joined by a key, with a column of another name and numbers; the same run as from a file."""
    rows = [("s1-take.wav", "a", 1, 0.5), ("s2-take.wav", "b", 2, None), ("x.wav", "c", 3, 1)]
    with closing(sqlite3.connect(tmp_path / "labels.db")) as database, database:
        database.execute("CREATE TABLE calls (file TEXT, class TEXT, speaker INTEGER, age REAL)")
        database.executemany("INSERT INTO calls VALUES (?, ?, ?, ?)", rows)
    columns = {"key": "file", "label": "class", "group": "speaker", "target": "age"}
    more = {"pattern": None, "labels_by": "name", "labels_columns": columns}
    in_tasks = {"jdbc_jar": [jar(SQLITE)], "master": "local[2]"}  # the listing too
    url = f"jdbc:sqlite:{tmp_path}/labels.db"
    query = "SELECT * FROM calls"
    asked = scan(source, root, labels_jdbc=url, labels_query=query, **in_tasks, **more)
    lines = ["file,class,speaker,age", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "labels.csv").write_text("\n".join(lines).replace("None", ""))
    read = scan(source, tmp_path / "other", labels=str(tmp_path / "labels.csv"), **more)
    assert (read.data["name"], read.data["identity"]) == (
        asked.data["name"],
        asked.data["identity"],
    )
    assert {"keys": 1, "examples": ["x.wav"]} == asked.data["labels_of_none"]
    told = read_manifest(str(asked.text)).manifest.execution.settings
    assert (url, query) == (told["labels_jdbc"], told["labels_query"])


@pytest.fixture(scope="module")
def postgres() -> Iterator[int]:
    """A server of its own on a free port, whose one user has a password."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    made = tempfile.TemporaryDirectory(dir="/tmp")
    folder = Path(made.name)
    data, secret = folder / "data", folder / "secret"
    secret.write_text(PASSWORD)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    own: dict[str, Any] = {"cwd": folder}
    if os.getuid() == 0:  # the server refuses to be root
        own |= {"user": "postgres", "group": "postgres"}
        shutil.chown(folder, "postgres", "postgres")
        shutil.chown(secret, "postgres", "postgres")
    binary = found[-1].parent
    initdb = [binary / "initdb", "-D", data, "-U", "owner", "-A", "scram-sha-256"]
    subprocess.run([*initdb, f"--pwfile={secret}"], check=True, capture_output=True, **own)
    control = [binary / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    subprocess.run([*control, "start", "-o", options], check=True, **own)
    try:
        yield port
    finally:
        subprocess.run([*control, "stop", "-m", "fast"], check=True, **own)
        made.cleanup()


@pytest.mark.slow
def test_labels_of_a_postgresql_database(
    program: Any, source: Path, root: Path, postgres: int
) -> None:
    """With a password, which is in no output and no manifest; and what the database refuses."""
    where = f"127.0.0.1:{postgres}/postgres"
    rows = "VALUES ('no/s1-take.wav', 'a'), ('yes/s2-take.wav', 'b')"
    query = f"SELECT path, label FROM ({rows}) AS t (path, label)"  # noqa: S608

    def ask(query: str, password: str = PASSWORD, where: str = where) -> Any:
        words = ("--labels-jdbc", f"jdbc:postgresql://{where}", "--labels-query", query)
        driver = ("--jdbc-jar", jar(POSTGRES), "--jdbc-user", "owner", "--json")
        secret = {"AUDIOLOOM_FEATURIZER_JDBC_PASSWORD": password}
        ended = program("scan", source, "--root", root, *words, *driver, **secret)
        assert password not in ended.stdout + ended.stderr
        return ended

    wrong = ask(query, "no-such-word")
    assert 77 == wrong.returncode, wrong.stderr
    assert "no_permission" == json.loads(wrong.stdout)["error"]["class"]
    assert 2 == ask("SELECT nothing FROM nowhere").returncode
    assert 69 == ask(query, where="127.0.0.1:1/x").returncode
    done = ask(query)
    assert 0 == done.returncode, done.stderr
    assert 2 == json.loads(done.stdout)["labelled"]
    assert all(PASSWORD not in path.read_text(errors="ignore") for path in root.rglob("*.json"))


@pytest.mark.slow
def test_a_database_without_a_driver(source: Path, root: Path) -> None:
    """The flag that is missing is told."""
    with pytest.raises(MissingLibrary, match="--jdbc-jar"):
        scan(source, root, pattern=None, labels_jdbc="jdbc:sqlite:x", labels_query="SELECT 1")


def test_the_errors_are_those_of_the_table() -> None:
    """What the states of SQL become: the exit codes that the README tells."""
    from audioloom_featurizer.inventory.spark import ERROR_BY_STATE

    assert {"08": ServiceDown, "28": NoPermission, "42": InvalidOption} == ERROR_BY_STATE
