"""kill -9 at every kind of moment of a training: resumed, it ends like one that was never killed.

Two workers, Dropout, deterministic operations. `uv run noxfile.py -s kills`; a few of these moments
are in `test_resume.py`, which always runs.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from shard_maker import make_shards
from trainer_workers import NETWORK, ForkServer, difference, run_of, weights_of

pytestmark = pytest.mark.slow

KILLED, TRY_AGAIN = -9, 75
EPOCHS, STEPS = 3, 8
WHOM = ("chief", "other", "both")

SAVING = [
    pytest.param(("create", "state-"), id="before the state is written"),
    pytest.param(("write", "state-"), id="while the state is written"),
    pytest.param(("commit", "state-"), id="before the state appears"),
    pytest.param(("create", "commit.json"), id="before the record is written"),
    pytest.param(("commit", "commit.json"), id="before the record appears"),
    pytest.param(("committed", "commit.json"), id="once the record stands"),
    pytest.param(("remove", "commit.json"), id="while an old one is forgotten"),
]


class Killing:
    """A training that was never killed, and the same with kills."""

    def __init__(self, forkserver: ForkServer, root: Path) -> None:
        self._forkserver, self.root = forkserver, root
        made = make_shards(root, records={"train": 61, "val": 23}, lanes=6)
        self._words: tuple[Any, ...] = ("run", made.folder, "--model", NETWORK, "--batch-size", 8)
        self._words += ("--epochs", EPOCHS, "--checkpoint-steps", 3, "--model-arg", "dropout=0.3")
        assert [0, 0] == self._gang("calm")

    def _gang(self, name: str, *faults: dict[str, Any]) -> list[int]:
        ended = self._forkserver.gang(2, *self._words, "--name", name, faults=faults)
        for rank, each in enumerate(ended):  # pytest shows it if the codes are others
            print(f"--- worker {rank}, exit code {each.code}\n{each.err}")  # noqa: T201
        return [each.code for each in ended]

    def check(self, whom: str, *faults: dict[str, Any]) -> None:
        """Kill, go on, compare; nothing of it stays."""
        expected = {
            "chief": [KILLED, TRY_AGAIN],
            "other": [TRY_AGAIN, KILLED],
            "both": [KILLED, KILLED],
        }
        assert expected[whom] == self._gang("hard", *faults)
        assert [0, 0] == self._gang("hard")
        calm, hard = run_of(self.root, "calm"), run_of(self.root, "hard")
        assert 0.0 == difference(weights_of(calm), weights_of(hard))
        assert calm.manifest.identity == hard.manifest.identity
        shutil.rmtree(self.root / "runs" / "hard")


@pytest.fixture(scope="module")
def killing(forkserver: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Killing:
    return Killing(forkserver, tmp_path_factory.mktemp("kills"))


@pytest.fixture(autouse=True)
def _cleared(killing: Killing) -> None:
    """What a case that failed has left is not the next one's."""
    shutil.rmtree(killing.root / "runs" / "hard", ignore_errors=True)


@pytest.mark.parametrize("whom", WHOM)
@pytest.mark.parametrize("step", [1, 5, STEPS, STEPS + 1, 2 * STEPS, EPOCHS * STEPS])
def test_killed_between_steps(killing: Killing, step: int, whom: str) -> None:
    """The first step, within an epoch, its last, the first of the next, the very last."""
    kill = {"kill_all_at_step" if whom == "both" else "kill_at_step": step}
    killing.check(whom, *([{}, kill] if whom == "other" else [kill, {}]))


@pytest.mark.parametrize("whom", WHOM)
@pytest.mark.parametrize("moment", SAVING)
def test_killed_during_a_checkpoint(killing: Killing, moment: tuple[str, str], whom: str) -> None:
    """At each step of the fourth one's way to storage, while the training goes on."""
    what, where = moment
    killing.check(whom, {"kill_in_storage": {"what": what, "where": where, "whom": whom}}, {})
