from __future__ import annotations

from pathlib import Path
from typing import Any

from audioloom_manifest.envelope import Producer
from audioloom_manifest.kinds import FeaturesRecipe
from audioloom_manifest.publication import Attempt, Plan, commit
from audioloom_manifest.reader import Opened
from audioloom_runs.why import Options, why
from audioloom_stage.result import Result
from audioloom_stage.settings import Settings
from audioloom_storage import Location
from manifest_runs import RECIPE, STATS, write


class Asked(Settings):
    engine: str = "numpy"
    unit_bytes: int = 1000
    sample_rate: int = 16_000


NAMES = {"feature.parameters": "--feature-arg", "algorithm": "the revision of the algorithm"}
HERE = Attempt(Producer(stage="featurizer", version="0.1.0"), "here", {"librosa": "0.11.0"})


def planned(root: Location, *, name: str | None = None, **recipe: Any) -> Plan:
    whole = FeaturesRecipe.model_validate({**dict(RECIPE), **recipe})
    return Plan.of("features", whole, (), root, name)


def made(
    root: Location, *, name: str | None = None, by: Attempt = HERE, **recipe: Any
) -> Opened[Any]:
    plan = planned(root, name=name, **recipe)
    return commit(plan, by, [write(plan.folder, "a.parquet", b"x")], STATS).opened


def asked(plan: Plan, settings: Settings | None = None, **more: Any) -> Result:
    return why(plan, HERE, Options(settings or Asked(), NAMES), **more)


def lines(answer: Result) -> list[str]:
    return str(answer.text).splitlines()


def test_an_empty_root_has_nothing_to_compare(root: Location) -> None:
    """It is no error: `run` would make the first run."""
    plan = planned(root)
    answer = asked(plan)
    assert [
        f"`run` would make {plan.folder}",
        f"there is no finished features run below {root} yet",
    ] == lines(answer)
    assert ("new", None, []) == tuple(
        answer.data[key] for key in ("state", "nearest", "differences")
    )


def test_damaged_and_foreign_folders_are_passed_over(root: Location) -> None:
    """As `list` does: one torn manifest hides no other run."""
    good = made(root, engine="native")
    Path(made(root, name="torn").location.path).write_text("{")
    (Path(root.path) / "features" / "begun").mkdir()
    answer: Any = asked(planned(root))
    assert good.manifest.name == answer.data["nearest"]["name"]


def test_a_run_that_is_there_needs_nothing(root: Location) -> None:
    """Other versions of libraries are told, and are no reason."""
    before = Attempt(HERE.producer, "here", {"librosa": "0.10.2", "scipy": "1.0"})
    run = made(root, by=before)
    answer = asked(planned(root))
    assert [
        f"already there: {run.location}",
        "there is nothing to do: `run` answers with this manifest",
        "no reason, as versions of libraries make no new run: librosa is 0.11.0; it was 0.10.2",
    ] == lines(answer)
    assert "committed" == answer.data["state"]


def test_the_run_that_differs_least_is_compared(root: Location) -> None:
    """Of two that differ alike, the newest would be; here one differs in two values."""
    made(root, engine="native", unit_bytes=7)
    near = made(root, name="near", unit_bytes=7)
    answer: Any = asked(planned(root), Asked(unit_bytes=1000))
    assert near.manifest.identity == answer.data["nearest"]["identity"]
    assert "the nearest finished run is near, made at " in lines(answer)[1]
    assert ["  --unit-bytes is 1000; it was 7"] == lines(answer)[2:]
    (only,) = answer.data["differences"]
    assert ("recipe", "unit_bytes", 7, 1000) == tuple(
        only[key] for key in ("section", "key", "before", "now")
    )


def test_options_are_named_as_they_are_given(root: Location) -> None:
    """An option that was left out has its default; a key without an option keeps its name."""
    feature = dict(RECIPE.feature)
    feature |= {"sample_rate": 8000, "shape": (40, 157), "parameters": {"sample_rate": 1}}
    made(root, algorithm=9, feature=feature, engine="native")
    told = lines(asked(planned(root), Asked(engine="numpy")))[2:]
    assert {
        "  --sample-rate is 16000 by default; it was 8000",
        "  --feature-arg sample_rate is not set; it was 1",
        "  feature.shape is 40, 313; it was 40, 157",
        "  --engine is numpy; it was native",
        "  the revision of the algorithm is 1; it was 9",
    } == {*told}


def test_a_digest_only_says_that_it_changed(root: Location) -> None:
    """Nobody reads 64 digits."""
    feature = dict(RECIPE.feature)
    made(root, feature=feature | {"parameters": {"source_sha256": "a" * 64}})
    plan = planned(root, feature=feature | {"parameters": {"source_sha256": "b" * 64}})
    assert "  --feature-arg source_sha256 has changed" == lines(asked(plan))[2]


def test_only_the_name_differs(root: Location) -> None:
    """The other name is told, so that nothing is done twice."""
    made(root, name="first")
    answer = asked(planned(root))
    assert "the run first, made at " in lines(answer)[1]
    assert "give --name first to have that run: only the name differs" == lines(answer)[2]
    assert [] == answer.data["differences"]


def test_a_name_that_another_run_has_is_told(root: Location) -> None:
    """`run` would refuse it with exit code 73."""
    made(root, name="first", engine="native")
    answer = asked(planned(root, name="first"))
    assert "`run` would be refused: another run has the name first" == lines(answer)[0]
    assert "  --engine is numpy by default; it was native" == lines(answer)[2]
    assert "name taken" == answer.data["state"]


def test_a_run_that_was_begun_is_continued(root: Location) -> None:
    """Its folder is there without a manifest."""
    plan = planned(root)
    write(plan.folder, "unit.parquet", b"x")
    answer = asked(plan)
    assert f"`run` would continue {plan.folder}" == lines(answer)[0]
    assert "begun" == answer.data["state"]


def test_what_a_stage_adds_follows(root: Location) -> None:
    """Only where something differs, and safe to show."""
    made(root, name="near", engine="native")
    told = lines(asked(planned(root), details=lambda opened: [f"{opened.manifest.name}\x1b[2J"]))
    assert r"  near\x1b[2J" == told[-1]
    made(root)
    assert "near" not in str(asked(planned(root), details=lambda _: ["near"]).text)


def test_many_differences_are_bounded(root: Location) -> None:
    """The text is for people; JSON has all of them."""
    feature = dict(RECIPE.feature) | {"parameters": {f"p{n}": n for n in range(100)}}
    made(root, feature=feature)
    answer: Any = asked(planned(root))
    assert 2 + 40 + 1 == len(lines(answer))
    assert "  and 60 more differences" == lines(answer)[-1]
    assert 100 == len(answer.data["differences"])
