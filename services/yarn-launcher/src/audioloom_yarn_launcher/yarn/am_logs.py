"""The last output of an application master and its coordinator, from `yarn logs`.

YARN's diagnostics hold only the shell's output from before the master started.
"""

import re
import subprocess

from audioloom_yarn_launcher.system.polling import poll

FILES = "application.master.log,application.driver.log"
WITHIN_S = 20.0
MOST_LINES = 12
_PIECE = re.compile(r"^LogContents:\n(.*?)^End of LogType:", re.DOTALL | re.MULTILINE)
_NOISE = re.compile(r"^\s*at |^\s*\.\.\. \d+ more|SLF4J|NativeCodeLoader|WARN conf.Configuration: ")


def last_words(application: str) -> str:
    """Return the last lines of the application master's logs; "" without log aggregation.

    YARN collects the logs after the end, so this asks again for `WITHIN_S` seconds.
    """
    command = ["yarn", "logs", "-applicationId", application, "-am", "ALL", "-log_files", FILES]

    def ask() -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=WITHIN_S
        )
        return said_in(done.stdout)

    try:
        return poll(ask, every_s=1.0, within_s=WITHIN_S) or ""
    except (OSError, subprocess.TimeoutExpired):
        return ""


def said_in(output: str) -> str:
    """Return the last lines of the output of `yarn logs` that carry information."""
    lines = [line for piece in _PIECE.findall(output) for line in piece.splitlines()]
    kept = [line for line in lines if line.strip() and not _NOISE.search(line)]
    return "\n".join(kept[-MOST_LINES:])
