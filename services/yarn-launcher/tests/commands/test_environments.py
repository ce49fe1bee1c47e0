import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import Location, PermissionDenied, locate
from audioloom_yarn_launcher.commands import environments
from audioloom_yarn_launcher.commands.environments import (
    Archive,
    Use,
    env_gc,
    find_archives,
    find_uses,
    list_environments,
    unneeded,
)
from audioloom_yarn_launcher.errors import BadRecord
from audioloom_yarn_launcher.runs.attempts import (
    Attempt,
    AttemptEnd,
    AttemptStarted,
    begin,
    publish_record,
)
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.runs.submissions import Localization, Submission, record_submission
from audioloom_yarn_launcher.settings import GcSettings, ListSettings
from hypothesis import given
from hypothesis import strategies as st

NOW = 10**18
ARCHIVE = Archive(locate("/e/a.tar.gz"), 1, modified_ns=NOW - 2, shared=False, mine=True)
USE = Use(locate("/r"), frozenset({"a.tar.gz"}), at_work=False, last_ns=NOW - 2)
DIGESTS = [digit * 64 for digit in "abcd"]


@pytest.mark.parametrize(
    ("archive", "use"),
    [
        (ARCHIVE, replace(USE, at_work=True)),
        (ARCHIVE, replace(USE, last_ns=NOW)),
        (ARCHIVE, replace(USE, at_work=True, archives=None)),
        (replace(ARCHIVE, modified_ns=NOW), USE),
        (replace(ARCHIVE, mine=False), USE),
    ],
)
def test_what_may_be_needed_stays(archive: Archive, use: Use) -> None:
    """By a run at work, one of late, one that does not say; what is young, or another user's."""
    assert [] == list(unneeded([archive], [use], NOW - 1))


@given(
    uses=st.lists(
        st.builds(
            Use,
            run=st.just(USE.run),
            archives=st.none() | st.frozensets(st.sampled_from(["a.tar.gz", "b.tar.gz"])),
            at_work=st.booleans(),
            last_ns=st.integers(NOW - 3, NOW),
        )
    )
)
def test_nothing_goes_that_a_living_run_uses(uses: list[Use]) -> None:
    """Whatever else there is; and all else goes."""
    living = [use for use in uses if use.at_work or use.last_ns > NOW - 1]
    needed = any(use.archives is None or "a.tar.gz" in use.archives for use in living)
    assert ([] if needed else [ARCHIVE]) == list(unneeded([ARCHIVE], uses, NOW - 1))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four archives of last week, and some that are not ours."""
    folder = tmp_path / "environments"
    folder.mkdir()
    for name in (*(f"{digest}.tar.gz" for digest in DIGESTS), "mine.tar.gz"):
        path = folder / name
        path.write_bytes(b"x" * 1000)
        path.chmod(0o600)
        age(path)
    return tmp_path


def age(path: Path, days: int = 7) -> None:
    at = time.time() - days * 86400
    os.utime(path, (at, at))


def run_of(root: Path, name: str, digest: str, *, ended: bool) -> None:
    """A run on a cluster, of last week, and of this process."""
    folder = locate(str(root)) / f"runs/{name}"
    started = AttemptStarted(
        attempt=1,
        generation=0,
        launch="0" * 32,
        started="2026-01-01T00:00:00Z",
        on="yarn",
        size=1,
        command=("x",),
        working_folder="",
        owner=this_process(),
        localization=Localization(launcher=f"hdfs://other-name:1/environments/{digest}.tar.gz"),
    )
    begin(folder, started)
    if ended:
        end = {"generation": 0, "launch": started.launch, "started": started.started}
        publish_record(
            folder,
            AttemptEnd(attempt=1, **end, ended="x", outcome="failed", exit_code=1),  # type: ignore[arg-type]
        )
    for path in Path(folder.path).rglob("*.json"):
        age(path)


def call(root: Path, **given: Any) -> Any:
    return env_gc(GcSettings.model_validate({"root": str(root), **given}))


def test_a_record_that_cannot_be_read_keeps_everything(root: Path) -> None:
    """Nobody knows what that run uses."""
    run_of(root, "bad", DIGESTS[0], ended=True)
    (root / "runs/bad/attempts/1.started.json").write_text("{")
    with pytest.raises(BadRecord):
        call(root, delete=True)
    assert 4 == len(find_archives(locate(str(root))))


def test_a_run_of_another_user_keeps_nothing_of_mine(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its records may not be read, but it cannot use what only I may read; one of mine can."""
    run_of(root, "guarded", DIGESTS[0], ended=False)

    def denied(folder: Location) -> list[Attempt]:
        raise PermissionDenied("access denied", where=folder / "attempts")

    monkeypatch.setattr(environments, "read_attempts", denied)
    with pytest.raises(PermissionDenied):
        find_uses(locate(str(root)))
    monkeypatch.setattr(environments.storage, "is_own", lambda place: place.name != "guarded")
    assert [] == find_uses(locate(str(root)))
    assert 4 == len(call(root).data["files"])


def test_a_run_of_before_keeps_everything_while_it_is_at_work(root: Path) -> None:
    """Its record does not say what it uses."""
    run_of(root, "before", DIGESTS[0], ended=False)
    path = root / "runs/before/attempts/1.started.json"
    record = json.loads(path.read_text())
    del record["localization"]
    path.write_text(json.dumps(record))
    assert [] == call(root).data["files"]


def test_what_no_run_needs_is_shown_and_then_removed(root: Path) -> None:
    """Not what a run at work uses, what others may read, what is young, or what is not ours."""
    run_of(root, "over", DIGESTS[0], ended=True)
    run_of(root, "at-work", DIGESTS[1], ended=False)
    folder = root / "environments"
    (folder / f"{DIGESTS[2]}.tar.gz").chmod(0o644)
    os.utime(folder / f"{DIGESTS[3]}.tar.gz")
    gone = folder / f"{DIGESTS[0]}.tar.gz"
    shown = call(root)
    assert [str(gone)] == shown.data["files"]
    assert gone.exists()
    assert (f"audioloom-yarn-launcher env gc --root {root} --delete",) == shown.next
    removed = call(root, delete=True)
    assert "deleted 1 file, 1.0 kB" == list(removed.text)[-1]
    assert not gone.exists()
    assert 4 == len(list(folder.iterdir()))


def test_an_application_that_has_not_begun_uses_what_it_will(root: Path) -> None:
    """Nobody here can ask whether it still waits, so it may."""
    where = locate(str(root)) / "runs/waits"
    submission = Submission(
        launch="1" * 32,
        application="application_1_1",
        submitted="2026-01-01T00:00:00Z",
        size=1,
        command=("x",),
        by=this_process(),
        localization=Localization(launcher="x/l.tar.gz", environment=f"x/{DIGESTS[0]}.tar.gz"),
    )
    record_submission(where, submission)
    (use,) = find_uses(locate(str(root)))
    assert (True, frozenset({"l.tar.gz", f"{DIGESTS[0]}.tar.gz"})) == (use.at_work, use.archives)


def test_a_list_says_who_uses_what(root: Path) -> None:
    """And who may read it."""
    run_of(root, "over", DIGESTS[0], ended=True)
    run_of(root, "at-work", DIGESTS[0], ended=False)
    settings = ListSettings(root=str(root))
    result = list_environments(settings)
    first = result.data["environments"][0]  # type: ignore[index, call-overload]
    assert (2, 1, "me") == (len(first["runs"]), len(first["at_work"]), first["read_by"])
    assert ["bytes", "1.0"] == [line.split()[0] for line in str(result.text).splitlines()[:2]]


def test_a_second_copy_is_ours_and_what_is_another_users_is_not(root: Path) -> None:
    """The second name that an archive gets where the first was taken, and who took it."""
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    folder = root / "environments"
    theirs, ours = folder / f"{DIGESTS[0]}.tar.gz", folder / f"{DIGESTS[0]}.2.tar.gz"
    shutil.copy2(theirs, ours)
    os.chown(theirs, 65534, -1)
    settings = ListSettings(root=str(root))
    listed: Any = list_environments(settings).data["environments"]
    readers = {each["location"]: each["read_by"] for each in listed}
    assert ("others", "me") == (readers[str(theirs)], readers[str(ours)])
    call(root, delete=True)
    assert (True, False) == (theirs.exists(), ours.exists())


@pytest.mark.parametrize("what", ["archive", "folder"])
def test_links_are_not_followed(root: Path, tmp_path: Path, what: str) -> None:
    """To an archive, or to a folder of archives: neither the link goes nor what it leads to."""
    folder, elsewhere = root / "environments", tmp_path / "elsewhere"
    names = sorted(path.name for path in folder.iterdir())
    linked = folder if what == "folder" else folder / names[0]
    linked.rename(elsewhere)
    linked.symlink_to(elsewhere)
    call(root, delete=True, older_than=0)
    kept = elsewhere if what == "archive" else elsewhere / names[0]
    assert (True, True) == (linked.is_symlink(), kept.is_file())


def test_unfinished_files_of_others_stay(root: Path) -> None:
    """The form of a name does not make it ours: it has to be of an archive that we pack."""
    folder = root / "environments"
    ours = {f".{DIGESTS[0]}.tar.gz", f".{DIGESTS[0]}.2.tar.gz", ".spark-jars-0123456789abcdef.tar"}
    foreign = {".thesis.tex", ".mine.tar.gz"}
    for name in ours | foreign:
        path = folder / f"{name}.0123456789abcdef.part"
        path.write_bytes(b"x")
        path.chmod(0o600)
        age(path)
    call(root, delete=True)
    left = {path.name.removesuffix(".0123456789abcdef.part") for path in folder.iterdir()}
    assert foreign | {"mine.tar.gz"} == left
