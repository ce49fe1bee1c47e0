from __future__ import annotations

import json
import subprocess
import sys

from audioloom_storage import Location, create, list_folder, read_bytes, walk
from storage_place import Place

PUBLISHERS = 6
ROUNDS = {
    "file": 25,
    "hdfs": 10,
    "webhdfs": 6,
    "s3": 6,
}  # over HTTP each takes a quarter of a second

PUBLISHER = """
import json, sys
from audioloom_storage import AlreadyExists, locate, publish
from audioloom_storage.local import commit
commit.CLAIM_SECONDS = 60  # a busy machine is no dead writer
folder, me, rounds = locate(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
won = []
for number in range(rounds):
    try:
        publish(folder / f"run-{number}/manifest.json", me.encode() * 1000)
    except AlreadyExists:
        continue
    won.append(number)
print(json.dumps(won))
"""


def test_of_racing_publishers_exactly_one_wins(place: Place) -> None:
    """Processes publish the same names at once: each name has one winner, and holds its bytes."""
    folder, prelude = place.folder, place.prelude
    rounds = ROUNDS[folder.scheme]
    publishers = [
        subprocess.Popen(
            [sys.executable, "-c", prelude + PUBLISHER, folder.uri, f"{me}", f"{rounds}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for me in range(PUBLISHERS)
    ]
    for publisher in publishers:
        assert publisher.stdout is not None
        assert "ready\n" == publisher.stdout.readline()
    for publisher in publishers:
        assert publisher.stdin is not None
        publisher.stdin.write("go\n")
        publisher.stdin.flush()
    winners: dict[int, str] = {}
    for me, publisher in enumerate(publishers):
        out, _ = publisher.communicate(timeout=120)
        assert 0 == publisher.returncode
        for number in json.loads(out):
            assert number not in winners
            winners[number] = f"{me}"
    assert set(range(rounds)) == set(winners)
    for number, winner in winners.items():
        run = folder / f"run-{number}"
        assert winner.encode() * 1000 == read_bytes(run / "manifest.json", limit=10_000)
        assert ["manifest.json"] == [entry.location.name for entry in list_folder(run)]


def test_writers_of_different_files_do_not_meet(folder: Location) -> None:
    """Two files of one folder are written side by side, even if their names begin alike."""
    long = "x" * 250
    with create(folder / f"{long}-1") as one, create(folder / f"{long}-2") as two:
        one.write(b"1")
        two.write(b"2")
    assert [b"1", b"2"] == [read_bytes(entry.location, limit=9) for entry in walk(folder)]
