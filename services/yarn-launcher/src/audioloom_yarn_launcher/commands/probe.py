"""`probe`: inspect a node for `doctor` in a container, and end the application with the answer."""

import os
import platform
import shutil
import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from audioloom_storage import StorageError, locate, open_read

from audioloom_yarn_launcher.preflight.local import is_noexec
from audioloom_yarn_launcher.preflight.node import TOLD, Answer
from audioloom_yarn_launcher.system.processes import output_of
from audioloom_yarn_launcher.worker.status_report import ask_gpus
from audioloom_yarn_launcher.yarn.application_spec import ENVIRONMENT
from audioloom_yarn_launcher.yarn.skein_application import current_application

READ_BYTES = 1 << 16
PROGRAM_WITHIN_S = 30
MOST_SAID = 300
_KIND = b"HDFS_DELEGATION_TOKEN"


def main(words: Sequence[str]) -> int:
    """Inspect the node, reading the file of the argument; end the application with the answer."""
    (read,) = words
    answer = look(read)
    current_application().shutdown("SUCCEEDED", f"{TOLD}{answer.model_dump_json()}")
    return 0


def look(read: str) -> Answer:
    """Inspect this node, which is to read the file at the location *read*."""
    file = unread = ""
    try:
        with open_read(locate(read)) as opened:
            file = f"{len(opened.read(READ_BYTES))} bytes of {read}"
    except StorageError as error:
        unread = str(error)
    token_file = Path(os.environ.get("HADOOP_TOKEN_FILE_LOCATION", ""))
    python = Path.cwd() / ENVIRONMENT / "bin/python"
    shipped = (Path.cwd() / ENVIRONMENT).is_dir()
    home = os.environ.get("JAVA_HOME")
    return Answer(
        host=os.environ.get("NM_HOST") or socket.gethostname(),
        clock=time.time(),
        java=_said(f"{home}/bin/java" if home else "java", "-version"),
        python=platform.python_version(),
        libc=" ".join(platform.libc_ver()),
        free_mb=shutil.disk_usage(Path.cwd()).free >> 20,
        gpus=tuple(name for _, name in ask_gpus("gpu=index,name")),
        tokens=token_file.read_bytes().count(_KIND) if token_file.is_file() else 0,
        file=file,
        unread=unread,
        command_python=_said(str(python), "--version") if shipped else None,
        noexec=is_noexec(tempfile.gettempdir()),
    )


def _said(*words: str) -> str:
    return output_of(*words, within_s=PROGRAM_WITHIN_S, errors=True).strip()[:MOST_SAID]
