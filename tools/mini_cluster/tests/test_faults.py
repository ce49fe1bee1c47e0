"""What tests do to programs on a cluster."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from audioloom_mini_cluster.faults import ended, listening, processes_of, until

PIPES = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def python(program: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program, *words], **PIPES)  # type: ignore[call-overload]


def test_waiting_in_vain_says_for_what() -> None:
    """And what has come is the answer."""
    with pytest.raises(AssertionError, match="waited 0 s in vain: a miracle"):
        until(lambda: None, "a miracle", seconds=0.0)
    values = iter(["", "here"])
    assert "here" == until(lambda: next(values), "the second")


def test_another_exit_code_shows_what_was_said() -> None:
    """On standard error, where the reason is."""
    with pytest.raises(AssertionError, match="found exit code 3:\nno room"):
        ended(python("import sys; sys.exit(sys.stderr.write('no room') and 3)"), 0, 1)
    assert ("fine", "") == ended(python("print('fine')"), 0)


def test_processes_of_a_folder(tmp_path: Path) -> None:
    """By their command line; none of them when they have ended."""
    process = python("import time; time.sleep(60)", str(tmp_path))
    try:
        # The kernel shows its command line a moment after it has begun.
        (found,) = until(lambda: processes_of(str(tmp_path)), "it is seen")
        assert str(process.pid) == found.split()[0]
    finally:
        process.kill()
        process.communicate()
    assert [] == processes_of(str(tmp_path))


@pytest.mark.parametrize(
    ("family", "host", "seen"),
    [
        (socket.AF_INET, "127.0.0.9", "127.0.0.9"),
        (socket.AF_INET, "", "127.0.0.9"),
        (socket.AF_INET6, "::", "127.0.0.9"),
        (socket.AF_INET6, "::ffff:127.0.0.9", "127.0.0.9"),
    ],
)
def test_addresses_at_which_somebody_listens(
    family: socket.AddressFamily, host: str, seen: str
) -> None:
    """Java's sockets are IPv6; who listens at all addresses listens at this one."""
    both = family == socket.AF_INET6
    with socket.create_server((host, 0), family=family, dualstack_ipv6=both) as server:
        port = server.getsockname()[1]
        assert [f"{seen}:{port}"] == listening([f"{seen}:{port}", "127.0.0.9:1"])
    assert [] == listening([f"{seen}:{port}"])
