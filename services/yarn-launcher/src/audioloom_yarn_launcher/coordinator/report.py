"""The name of the launcher for its messages, and its warning about exposed workers."""

import structlog

from audioloom_yarn_launcher.runs.attempts import AttemptMembers
from audioloom_yarn_launcher.system.bind_address import warning

PROGRAM = "audioloom-yarn-launcher"

log = structlog.get_logger()


def report_exposed(record: AttemptMembers) -> None:
    """Warn of workers that are open to strangers, once for each reason."""
    reasons: dict[str, list[int]] = {}
    for worker in record.workers:
        if worker.exposed:
            reasons.setdefault(worker.exposed, []).append(worker.rank)
    for reason, ranks in reasons.items():
        log.warning(warning(reason), workers=ranks)
