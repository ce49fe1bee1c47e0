"""The environment variables with which a launcher names the run folder that all workers share.

They are part of the contract between launcher and trainer, not settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from audioloom_stage.errors import BadConfiguration
from audioloom_storage import Location, locate


@dataclass(frozen=True)
class Launch:
    """The launcher's variables; without a launcher the folder is None and both numbers are 0.

    Args:
        progress: path of a file of this machine, from which the launcher publishes the progress of
            this process; "" if the process publishes it itself.
    """

    folder: Location | None = None
    attempt: int = 0
    generation: int = 0
    progress: str = ""


def read_launch(environment: Mapping[str, str]) -> Launch:
    """Read the variables that begin with AUDIOLOOM_RUN_.

    Raises:
        BadConfiguration: a variable is not a number.
    """
    folder = environment.get("AUDIOLOOM_RUN_FOLDER", "")
    return Launch(
        folder=locate(folder) if folder else None,
        attempt=_number(environment, "AUDIOLOOM_RUN_ATTEMPT"),
        generation=_number(environment, "AUDIOLOOM_RUN_GENERATION"),
        progress=environment.get("AUDIOLOOM_RUN_PROGRESS", ""),
    )


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "") or "0"
    if not text.isdecimal():
        raise BadConfiguration(where=name, expected="a number from 0", found=repr(text[:80]))
    return int(text)
