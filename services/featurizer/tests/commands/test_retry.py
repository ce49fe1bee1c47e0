from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.retry import retry as retry_command
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.errors import InvalidOption, NoRecordings, NothingReadable
from audioloom_featurizer.extraction import members, recording
from audioloom_featurizer.settings import RetrySettings, VerifySettings
from audioloom_featurizer.verification import recordings_of
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.result import Result
from audioloom_storage import Location, PermissionDenied, Unavailable
from featurizer_work import features_of, header_only, in_process, paths_of, run, scan, write_wav

DOWN = ("no/s3-take.wav", "yes/s4-take.wav")
LOCKED = "no/s1-take.wav"


class Archive:
    """Storage that does not answer for some recordings, and lets nobody read another."""

    def __init__(self) -> None:
        self.down: tuple[str, ...] = DOWN
        self.locked: tuple[str, ...] = (LOCKED,)
        self._open = members.open_read

    def open_read(self, where: Location) -> object:
        if str(where).endswith(self.down):
            raise Unavailable(where=where, expected="an answer", found="none")
        if str(where).endswith(self.locked):
            raise PermissionDenied(where=where, expected="a file", found="no permission")
        return self._open(where)


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Archive:
    stands = Archive()
    monkeypatch.setattr(members, "open_read", stands.open_read)
    monkeypatch.setattr(recording, "WAIT_SECONDS", 0)
    return stands


@pytest.fixture
def partly(archive: Archive, source: Path, root: Path) -> Opened:
    """Eight recordings: four extracted, two unavailable, one locked, one empty."""
    header_only(source / "no" / "s8-bad.wav")
    return features_of(source, root, error_budget="50%")


def retry(features: Opened, **more: object) -> Result:
    return retry_command(RetrySettings(features=str(features.folder), **more), in_process)


def opened(result: Result) -> Opened:
    return read_manifest(str(result.text), "features")


def test_nothing_to_retry_is_said(partly: Opened, archive: Archive) -> None:
    """With what there is instead, and how to take it all the same."""
    archive.down = ()
    again = opened(retry(partly))
    with pytest.raises(NoRecordings, match="none refused"):
        retry(again)


def test_what_waits_for_a_person_is_not_retried_by_itself(source: Path, root: Path) -> None:
    """An empty recording stays empty; --also says that its cause is mended."""
    header_only(source / "no" / "s8-bad.wav")
    features = features_of(source, root, error_budget="1")
    with pytest.raises(NoRecordings, match=r"1 empty(.|\n)*--also"):
        retry(features)
    with pytest.raises(InvalidOption, match="classes of the ledger: empty, found damaged"):
        retry(features, also=("damaged",))


def test_still_down_commits_nothing(partly: Opened, root: Path) -> None:
    """A second ledger of the same recordings would help nobody."""
    with pytest.raises(NothingReadable, match="2 × unavailable"):
        retry(partly)
    assert 1 == len(list(root.glob("features/*/manifest.json")))


def test_a_release_of_other_values_is_refused(
    partly: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both runs are one data set, so their values have to be of one kind."""
    monkeypatch.setattr("audioloom_featurizer.commands.retry.ALGORITHM", 99)
    with pytest.raises(InvalidOption, match="algorithm 99"):
        retry(partly)


def test_recordings_that_are_gone_cannot_be_retried(partly: Opened, root: Path) -> None:
    """Their manifest says where they lie."""
    shutil.rmtree(root / "recordings")
    with pytest.raises(NoRecordings, match="recordings manifest is gone"):
        retry(partly)


def test_both_runs_together_are_the_whole(partly: Opened, archive: Archive) -> None:
    """Each recording once: extracted by one of them, or refused for good."""
    archive.down = ()
    again = opened(retry(partly))

    assert partly.manifest.recipe == again.manifest.recipe
    assert list(DOWN) == paths_of(again, "features")
    assert [] == paths_of(again, "ledger")
    whole = [*paths_of(partly, "features"), *paths_of(again, "features")]
    assert 6 == len(set(whole)) == len(whole)
    verify(VerifySettings(manifest=str(again.folder)))
    recordings = recordings_of(again)
    verify(VerifySettings(manifest=str(recordings.folder)))


def test_values_are_those_of_a_run_without_failures(
    partly: Opened, archive: Archive, source: Path, tmp_path: Path
) -> None:
    """Window by window, label and checksum of the recording too."""
    archive.down = archive.locked = ()
    both = sorted(
        [*_windows(partly), *_windows(opened(retry(partly, also=("no_permission",))))], key=_place
    )
    calm = features_of(source, tmp_path / "calm", error_budget="1")
    assert sorted(_windows(calm), key=_place) == both


def test_labels_of_a_table_come_along(archive: Archive, source: Path, root: Path) -> None:
    """They stand in the inventory alone, and the recordings manifest says their digest."""
    paths = sorted(path.relative_to(source).as_posix() for path in source.rglob("*.wav"))
    table = source.with_name("labels.csv")
    table.write_text("path,label\n" + "".join(f"{path},of {path}\n" for path in paths))
    recordings = str(scan(source, root, pattern=None, labels=str(table)).text)
    features = read_manifest(str(run(recordings, error_budget="50%").text), "features")
    archive.down = ()
    again = opened(retry(features))
    assert {path: f"of {path}" for path in DOWN} == {
        row["path"]: row["label"] for row in _windows(again)
    }
    verify(VerifySettings(manifest=str(recordings_of(again).folder)))


def test_what_is_refused_again_can_be_retried_again(partly: Opened, archive: Archive) -> None:
    """Until it is answered; a command given twice finds what stands."""
    archive.down = DOWN[:1]
    second = opened(retry(partly))
    assert [DOWN[0]] == paths_of(second, "ledger")
    assert retry(partly).data["already_committed"]
    archive.down = ()
    third = opened(retry(second))
    assert [DOWN[0]] == paths_of(third, "features")


def test_what_to_do_next_names_both_runs(partly: Opened, archive: Archive) -> None:
    """The sharder takes them together."""
    archive.down = ()
    done = retry(partly)
    folder = opened(done).folder
    assert f"audioloom-sharder plan {partly.folder} {folder}" == done.next[-1]


def test_a_recording_that_changed_is_refused_again(
    partly: Opened, archive: Archive, source: Path
) -> None:
    """It is not the one that was listed: scan again."""
    archive.down = ()
    write_wav(source / DOWN[0], 2.0)
    again = opened(retry(partly))
    assert {"changed": 1} == again.manifest.stats.refusals


def _windows(features: Opened) -> list[dict[str, object]]:
    places = [Path(features.folder.path, entry.path) for entry in features.files("features")]
    return [row for place in places for row in pq.read_table(place).to_pylist()]


def _place(row: dict[str, object]) -> tuple[object, ...]:
    return row["path"], row["channel"], row["window"]
