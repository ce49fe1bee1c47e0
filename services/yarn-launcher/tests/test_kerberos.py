"""A cluster with Kerberos, and a user who has a keytab and no ticket."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "programs" / "secure_cluster.py"
JAR = Path(
    os.environ.get("AUDIOLOOM_MAPREDUCE_JAR", "~/.m2/repository/org/apache/hadoop"),
    "hadoop-mapreduce-client-core/3.4.3/hadoop-mapreduce-client-core-3.4.3.jar",
).expanduser()
PATIENCE_S = 300

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("krb5kdc") is None or not JAR.is_file(),
        reason="needs Debian's krb5-kdc, krb5-admin-server and krb5-user, and mapreduce's jar",
    ),
]


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Where the root lies, and the variables of who uses the cluster."""
    folder = tmp_path_factory.mktemp("secure")
    with subprocess.Popen(
        [sys.executable, PROGRAM, folder, JAR],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        given = said["variables"]
        said["variables"] = {
            **os.environ,
            **given,
            "PATH": f"{given['PATH']}:{os.environ['PATH']}",
            "SKEIN_CONFIG": str(folder / "skein"),
        }
        said["login"] = (f"--keytab={folder}/me.keytab", "--principal=me@LOOM.TEST")
        said["master"] = f"--coordinator-env=JAVA_TOOL_OPTIONS={given['JAVA_TOOL_OPTIONS']}"
        yield said
        process.stdin.close()
        process.wait(PATIENCE_S)


def call(secure: dict[str, Any], *words: str, **changed: str) -> tuple[int, str, str]:
    """Run a launcher to its end: exit code, stdout, stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "audioloom_yarn_launcher", *words],
        env={**secure["variables"], **changed},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout, done.stderr


def test_without_a_ticket_the_cluster_is_closed(secure: dict[str, Any]) -> None:
    """`doctor` says so, and `run` does not begin."""
    code, out, err = call(secure, "doctor", "--json", "--no-probe", f"--root={secure['root']}")
    assert 78 == code, err
    found = {each["check"]: each for each in json.loads(out)["findings"]}
    assert "failure" == found["identity"]["state"]
    assert "--keytab" in found["identity"]["hint"]
    words = ("run", "--on=yarn", f"--root={secure['root']}", "--", "true")
    assert 77 == call(secure, *words)[0]


def test_a_keytab_is_enough_for_a_run(secure: dict[str, Any]) -> None:
    """Its containers have tokens, by which they read the root and write what they record."""
    words = ("--json", f"--root={secure['root']}", "--planned-duration=10h", secure["master"])
    code, out, err = call(secure, "doctor", *words, *secure["login"])
    assert 0 == code, out + err
    found = {each["check"]: each for each in json.loads(out)["findings"]}
    for name in ("identity", "tokens", "node's tokens", "node reads"):
        assert "ok" == found[name]["state"], found[name]
    words = (f"--root={secure['root']}", "--name=mine", "--memory=256 MiB", "--workers=2")
    options = ("--on=yarn", *words, secure["master"], *secure["login"])
    code, out, err = call(secure, "run", *options, "--", "python3", "-c", "print('done')")
    assert 0 == code, err
    keytab = secure["login"][0].partition("=")[2]
    code, out, err = call(secure, "logs", f"{secure['root']}/runs/mine", KRB5_CLIENT_KTNAME=keytab)
    assert (0, 2) == (code, out.count("done")), err
