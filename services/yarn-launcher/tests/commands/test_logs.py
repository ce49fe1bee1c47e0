import threading
from pathlib import Path
from typing import Any

import pytest
from audioloom_yarn_launcher.commands.logs import show_logs
from audioloom_yarn_launcher.errors import NoRun
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
    with pytest.raises(NoRun, match="no log of worker 7 of attempt 2"):
        shown(folder, rank=7)
    with pytest.raises(NoRun, match="of attempt 3"):
        shown(folder, attempt=3)


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
    for begin, end in ((1000, len(whole)), (0, 30), (0, 400), (300, 1000)):
        (folder / f"logs/0/1.{begin}-{end}.log").write_bytes(whole[begin:end])
    assert whole.decode().splitlines() == shown(folder)
