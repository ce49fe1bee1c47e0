"""The records of submitted applications, which exist before a run's first attempt begins.

    submissions/<launch>.json    published by the launcher when YARN has taken the application

The coordinator begins the attempt when its container has started, in seconds or hours.
"""

import re
from collections.abc import Collection
from typing import Literal

from audioloom_storage import Location, make_folder, publish
from pydantic import BaseModel

from audioloom_yarn_launcher.runs.process_identity import ProcessIdentity
from audioloom_yarn_launcher.runs.record import RecordBase, file_names, read_record, record_bytes

FOLDER = "submissions"
_NAME = re.compile(r"([0-9a-f]{32})\.json")


class Localization(BaseModel, frozen=True):
    """URIs of the archives for a run's containers, and the Python or image of its nodes."""

    launcher: str
    environment: str | None = None
    python: str | None = None
    image: str | None = None

    @property
    def archives(self) -> tuple[str, ...]:
        """The URIs of its archives."""
        return tuple(filter(None, (self.launcher, self.environment)))


class Submission(RecordBase):
    """An application that was submitted to YARN by a process.

    Args:
        after_attempt: number of the run's last attempt before it, 0 if there was none. It gives
            the order, since clocks of machines differ.
    """

    kind: Literal["submission"] = "submission"
    launch: str
    application: str
    submitted: str
    after_attempt: int = 0
    size: int
    command: tuple[str, ...]
    by: ProcessIdentity
    localization: Localization | None = None


def record_submission(folder: Location, submission: Submission) -> None:
    """Record a submission in the run folder."""
    make_folder(folder / FOLDER, private=True)
    publish(folder / f"{FOLDER}/{submission.launch}.json", record_bytes(submission))


def read_submissions(folder: Location, begun: Collection[str]) -> list[Submission]:
    """Read the submissions, newest first, without the launches that have *begun*.

    Submissions after one attempt are ordered by clocks alone. BadRecord if one cannot be read.
    """
    found = [
        read_record(folder / f"{FOLDER}/{launch}.json", Submission)
        for launch in file_names(folder / FOLDER, _NAME)
        if launch not in begun
    ]
    return sorted(
        filter(None, found), key=lambda each: (each.after_attempt, each.submitted), reverse=True
    )
