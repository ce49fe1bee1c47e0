"""Become another program that dies when the process that asked for it dies.

Run as a script, before that program, in its place:

    python -I -S _exec.py SIGNAL PARENT COMMAND [ARGUMENT …]

SIGNAL is what the kernel sends when the thread of PARENT that started us ends, for whatever
reason. `setpriv --pdeathsig` does the same, but not on every node; a `preexec_fn` would run Python
between fork and exec, which deadlocks or dies in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
NOT_EXECUTABLE, NOT_FOUND = 126, 127  # as a shell answers


def main() -> int:
    """Tie this process to its parent, and become the command."""
    death_signal, parent, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
        if os.getppid() != parent:  # it ended before the kernel knew that we care
            return NOT_EXECUTABLE
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by this interpreter, when it started
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - there is no shell, and none is wanted
    except FileNotFoundError as error:
        among = "" if "/" in command[0] else f" among {os.environ.get('PATH')}"
        sys.stderr.write(f"{command[0]}: {error.strerror}{among}\n")
        return NOT_FOUND
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main())
