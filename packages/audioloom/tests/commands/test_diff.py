from __future__ import annotations

import json
from typing import Any

from audioloom_manifest.reader import Opened
from audioloom_storage import Location
from small_root import make_features, make_recordings, make_shards, make_training


def test_runs_of_two_stages_are_not_compared(program: Any, runs: dict[str, Opened[Any]]) -> None:
    """It is a slip, told with the kind of each."""
    ran = program("diff", runs["shards"].folder, runs["first"].folder)
    assert (2, "") == (ran.code, ran.out)
    assert "two runs of one stage" in ran.err
    assert "one of shards and one of training-run" in ran.err


def test_a_run_that_is_not_finished_is_told(program: Any, runs: dict[str, Opened[Any]]) -> None:
    """It has no manifest to compare."""
    ran = program("diff", runs["first"].folder, runs["first"].folder.parent / "none")
    assert (66, "") == (ran.code, ran.out)
    assert "without a manifest a run is not done" in " ".join(ran.err.split())


def test_what_differs_is_a_table(program: Any, runs: dict[str, Opened[Any]]) -> None:
    """A section, a key and both values, and nothing that is equal."""
    ran = program("diff", runs["first"].folder, runs["second"].folder)
    lines = ran.out.splitlines()
    assert 0 == ran.code
    assert [f"A  {runs['first'].folder}", f"B  {runs['second'].folder}"] == lines[:2]
    assert ["A", "B"] == lines[3].split()
    assert ["recipe", "seed", "0", "7"] == lines[4].split()
    assert "epochs" not in ran.out
    assert "The results differ." == lines[-1]


def test_programs_get_the_same(program: Any, runs: dict[str, Opened[Any]]) -> None:
    """Values as the manifests have them."""
    ran = program("diff", runs["first"].folder, runs["second"].location, "--json")
    data = json.loads(ran.out)
    assert ("audioloom.client.diff", False) == (data["kind"], data["equal"])
    assert "first" == data["runs"]["A"]["name"]
    seed = {"section": "recipe", "key": "seed", "A": 0, "B": 7}
    assert seed in data["differences"]
    assert {"identity", "seed"} <= {each["key"] for each in data["differences"]}


def test_a_run_equals_its_copy(program: Any, root: Location) -> None:
    """Made at another place and under another name, it has the same identity."""
    source = make_recordings(root)
    first, copy = make_features(root, source), make_features(root / "elsewhere", source, "copy")
    ran = program("diff", first.folder, copy.folder)
    assert "The results are equal: recipe, inputs and files are the same." in ran.out
    assert "recipe  " not in ran.out
    assert json.loads(program("diff", first.folder, copy.folder, "--json").out)["equal"]


def test_scores_and_inputs_are_compared(program: Any, root: Location) -> None:
    """The setting of an earlier stage is told, by the kinds that lead to it."""
    trainings = []
    for name, suffixes, loss in (("a", (".wav",), 0.5), ("b", (".flac",), 0.25)):
        below = root / name
        made = make_shards(below, make_features(below, make_recordings(below, suffixes=suffixes)))
        trainings.append(make_training(below, made, scores={"val": {"loss": loss}}))
    rows = [
        line.split() for line in program("diff", *(t.folder for t in trainings)).out.splitlines()
    ]
    assert ["scores", "val.loss", "0.5", "0.25"] in rows
    assert ["shards.features.recordings.suffixes", ".wav", ".flac"] in rows


def test_values_that_look_alike_are_shown_in_full(program: Any, root: Location) -> None:
    """Two rows of equal texts would help nobody."""
    source = make_shards(root, make_features(root, make_recordings(root)))
    folders = [
        make_training(root, source, f"run-{loss}", scores={"val": {"loss": loss}}).folder
        for loss in (0.1234561, 0.1234562)
    ]
    rows = [line.split() for line in program("diff", *folders).out.splitlines()]
    assert ["scores", "val.loss", "0.1234561", "0.1234562"] in rows


def test_long_sections_are_cut(program: Any, root: Location) -> None:
    """A person reads some; JSON has all."""
    source = make_shards(root, make_features(root, make_recordings(root)))
    folders = [
        make_training(root, source, f"{value}", settings={f"s{n}": value for n in range(60)}).folder
        for value in (1, 2)
    ]
    ran = program("diff", *folders)
    assert 40 == sum(line.split()[-2:] == ["1", "2"] for line in ran.out.splitlines())
    assert "and 20 more" in ran.out
    assert 60 <= len(json.loads(program("diff", *folders, "--json").out)["differences"])


def test_names_from_outside_cannot_steer_a_terminal(program: Any, root: Location) -> None:
    """Nor end a line."""
    source = make_shards(root, make_features(root, make_recordings(root)))
    folders = [
        make_training(root, source, f"{n}", settings={"note": f"{n}\x1b[2J\nx"}).folder
        for n in (1, 2)
    ]
    ran = program("diff", *folders)
    assert "\x1b" not in ran.out
    assert r"1\x1b[2J\nx" in ran.out
