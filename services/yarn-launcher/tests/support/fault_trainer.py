"""Gangs of trainers, on a cluster: what must be the same after a fault is what was trained."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chained_steps as chain
import chained_training as program
import fault_harness
from audioloom_storage import locate, read_bytes

RECORDS = {"train": 64, "val": 24}
EPOCHS, BATCH = 12, 8
MOST_BYTES = 1 << 20


@dataclass
class TrainerHarness(fault_harness.YarnHarness):
    """Where two trainers run.

    Args:
        python: of an environment that has the trainer; all nodes are on this machine.
        shard_maker: a file with a function that makes shards.
    """

    python: str = field(kw_only=True)
    shard_maker: Path = field(kw_only=True)
    resumes_after = program.KEEP_EVERY
    _expected: dict[str, Any] = field(default_factory=dict)

    @property
    def shards(self) -> str:
        """What is trained on."""
        return f"{self.yarn.root}/shards/demo"

    def prepare(self) -> None:
        """Put shards on the cluster, and train on them undisturbed."""
        make = f"from shard_maker import make_shards; make_shards({str(self.folder)!r}, "
        subprocess.run(
            [self.python, "-c", f"{make}records={RECORDS})"],
            env={**os.environ, "PYTHONPATH": str(self.shard_maker.parent)},
            check=True,
        )
        self.hdfs("dfs", "-mkdir", "-p", self.yarn.root)
        self.hdfs("dfs", "-put", str(self.folder / "shards"), self.yarn.root)
        calm = self.gang("undisturbed")
        calm.go()
        code, _, err = calm.finish()
        assert 0 == code, err
        assert [("finished", "")] == calm.attempts()
        self._expected = self.result(calm.name)
        self.close()
        self.gangs.clear()

    def start(self, gang: fault_harness.Gang) -> subprocess.Popen[str]:
        """Start the client of a gang."""
        return self.launcher(
            *("run", "--on=yarn", f"--workers={fault_harness.WORKERS}", "--memory=2 GiB"),
            *(f"--python={self.python}", f"--root={self.yarn.root}", f"--name={gang.name}"),
            *(
                f"--files={program.__file__}",
                f"--files={chain.__file__}",
                *gang.options,
            ),
            *("--", "python", "-m", "chained_training", str(gang.notes), "run", self.shards),
            *(f"--epochs={EPOCHS}", f"--batch-size={BATCH}"),
            f"--checkpoint-steps={program.KEEP_EVERY}",
        )

    def answer(self, name: str) -> str:
        """The manifest that the trainer commits."""
        return f"{self.where(name)}/manifest.json"

    def undisturbed(self) -> dict[str, Any]:
        """What was trained when nothing happened."""
        return self._expected

    def result(self, name: str) -> dict[str, Any]:
        """The identity of a run: it is made of its files' content, so of the weights."""
        manifest = locate(self.answer(name))
        with self.yarn.cluster.exported():
            found = json.loads(read_bytes(manifest, limit=MOST_BYTES))
        return {key: found[key] for key in ("kind", "identity")}
