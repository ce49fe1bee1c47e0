"""A program that becomes a command and dies when its parent dies.

Run it as a script in place of the command:

    python -I -S die_with_parent.py SIGNAL PARENT COMMAND [ARGUMENT …]

The kernel sends SIGNAL when the thread of PARENT that started this process ends, for any reason.
`setpriv --pdeathsig` does this too, but some nodes lack it. A `preexec_fn` would run Python between
fork and exec, which can deadlock or crash in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
NOT_EXECUTABLE, NOT_FOUND = 126, 127  # the exit codes of a shell


def main() -> int:
    """Tie this process to its parent, then execute the command."""
    death_signal, parent, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
        if os.getppid() != parent:  # the parent ended before the prctl call
            return NOT_EXECUTABLE
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these from its start
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - needs no shell
    except FileNotFoundError as error:
        among = "" if "/" in command[0] else f" among {os.environ.get('PATH')}"
        sys.stderr.write(f"{command[0]}: {error.strerror}{among}\n")
        return NOT_FOUND
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main())
