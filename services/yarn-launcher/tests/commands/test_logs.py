import threading
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.commands.logs import LogsReader, show_logs
from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.monitoring.run_status import read_run_status
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.runs.attempts import begin, publish_record
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.runs.sidecar_events import Event, SidecarEvent, record_event
from audioloom_yarn_launcher.settings import LogsSettings
from launcher_processes import finish


def shown(folder: Path, **more: Any) -> list[str]:
    text = show_logs(LogsSettings(run=str(folder), **more)).text
    return [text] if isinstance(text, str) else list(text)


def test_the_last_attempt_of_all_workers_unless_told_otherwise(launches: Any) -> None:
    """With the rank before each line when there are several."""
    process = launches.start("1.1:exit=3", "0.2:say=again", options=("--workers=2",))
    launches.go()
    assert 0 == finish(process)[0]
    folder = launches.the_run()
    assert ["[0] member 0 of attempt 2", "[0] again", "[1] member 1 of attempt 2"] == shown(folder)
    assert ["member 1 of attempt 1"] == shown(folder, rank=1, attempt=1)
    for follow in (False, True):
        with pytest.raises(NoRun, match="no log of worker 7 of attempt 2"):
            shown(folder, rank=7, follow=follow)
        with pytest.raises(NoRun, match="of attempt 3"):
            shown(folder, attempt=3, follow=follow)


def test_following_goes_on_through_attempts_to_the_end(launches: Any) -> None:
    """What comes while it is read is not missed, and it ends with the run."""
    process = launches.start("1.1:exit=3", "0.2:say=again", options=("--workers=2",))
    launches.note(0, 1)
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.extend(shown(launches.the_run(), follow=True)))
    reader.start()
    launches.note(0, 2)
    launches.go()
    assert 0 == finish(process)[0]
    reader.join(60)
    assert not reader.is_alive()
    assert {"[0] member 0 of attempt 2", "[0] again", "[1] member 1 of attempt 2"} <= set(seen)
    assert len(seen) == len(set(seen))


def test_pieces_are_read_in_the_order_of_their_bytes(launches: Any) -> None:
    """As a storage without appending has them; what two of them hold is shown once."""
    launches.go()
    assert 0 == finish(launches.start(options=("--workers=1",)))[0]
    folder = launches.the_run()
    (folder / "logs/0/1.log").unlink()
    whole = b"".join(b"line %d\n" % number for number in range(200))
    for first, end in ((1000, len(whole)), (0, 30), (0, 400), (300, 1000)):
        (folder / f"logs/0/1.{first}-{end}.log").write_bytes(whole[first:end])
    assert whole.decode().splitlines() == shown(folder)


def test_the_last_lines_of_a_sidecar_that_restarts_are_shown(tmp_path: Path) -> None:
    """It began in an earlier attempt than its next process, which has another log."""
    roles, folder = (Group("worker", 1), Group("evaluator", 1)), locate(tmp_path)
    spec = RunSpec(name="r", folder=folder.uri, command=("train",), launch="a" * 32, roles=roles)
    (tmp_path / "logs/1").mkdir(parents=True)

    def note(event: Event, attempt: int, text: str) -> None:
        about = {"rank": 1, "role": "evaluator", "index": 0, "attempt": attempt}
        record_event(folder, SidecarEvent(event=event, time=now(), **about))
        with (tmp_path / f"logs/1/{attempt}.log").open("a") as log:
            log.write(text)

    def new() -> list[str]:
        view = read_run_status(folder)
        return [*reader.read(view, reader.open(view, view.number), None, ended=False)]

    reader = LogsReader(rank=None)
    begin(folder, spec.attempt(1))
    publish_record(folder, spec.attempt(1).end(None, told=None, ended=now(), restarts=True))
    begin(folder, spec.attempt(2))
    note("started", 1, "one\ntwo")
    assert ["[1] one"] == new()
    note("ended", 1, " ended")
    note("started", 2, "three\n")
    assert ["[1] two ended", "[1] three"] == new()
    assert [] == new()
