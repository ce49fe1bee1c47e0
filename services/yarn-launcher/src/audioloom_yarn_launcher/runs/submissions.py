"""What was handed to a cluster, so that it is known while no attempt has begun.

    submissions/<launch>.json    published by the launcher when YARN has taken the application

The coordinator begins the attempt when its container has started: in seconds, or in hours.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from audioloom_storage import Location, NotFound, list_folder, make_folder, publish

from audioloom_yarn_launcher.runs.localization import Localization
from audioloom_yarn_launcher.runs.process_identity import ProcessIdentity
from audioloom_yarn_launcher.runs.record import RecordBase, read_record, record_bytes

FOLDER = "submissions"
_NAME = re.compile(r"([0-9a-f]{32})\.json")


class Submission(RecordBase):
    """An application was handed to YARN.

    Args:
        launch: id of the launch, as its attempts carry it.
        application: id of the application.
        after_attempt: number of the run's last attempt when it was submitted, 0 if there was none:
            clocks of machines differ, so this says what came before what.
        by: the process that did.
        provision: what its workers are given.
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
    """Record it in the folder of the run."""
    make_folder(folder / FOLDER, private=True)
    publish(folder / f"{FOLDER}/{submission.launch}.json", record_bytes(submission))


def read_submissions(folder: Location, begun: Collection[str]) -> list[Submission]:
    """What was submitted, the newest first, but for the launches that have begun.

    Of those that were submitted after the same attempt only clocks tell which is newer.

    Raises:
        BadRecord: one of the records cannot be read.
    """
    try:
        names = [_NAME.fullmatch(each.location.name) for each in list_folder(folder / FOLDER)]
    except NotFound:
        return []
    found = [
        read_record(folder / f"{FOLDER}/{match[0]}", Submission)
        for match in names
        if match is not None and match[1] not in begun
    ]
    return sorted(
        filter(None, found), key=lambda each: (each.after_attempt, each.submitted), reverse=True
    )
