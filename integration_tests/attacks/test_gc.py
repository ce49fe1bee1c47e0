"""`gc` of every stage, with an age of nothing, among the files of others and links to them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from audioloom_quickstart.programs import Programs
from verdict import refused

DIGEST = "0123456789ab"
GC: dict[str, tuple[str, ...]] = {
    "featurizer": ("gc", "--root", "{root}", "--delete", "--older-than", "0s"),
    "sharder": ("gc", "--root", "{root}", "--delete", "--older-than", "0s"),
    "trainer": ("gc", "--root", "{root}", "--delete", "--older-than", "0s"),
    "yarn-launcher": ("env", "gc", "--root", "{root}", "--delete", "--older-than", "0s"),
}
# A name that the stage gives itself, below a folder that it owns.
OURS = {
    "featurizer": f"scratch/scan-{'0' * 32}/{'1' * 32}.parquet",
    "sharder": f"shards/run/work/.segments-00001-{DIGEST}.json.0123456789abcdef.part",
    "trainer": f"runs/run/model/.weights-{DIGEST}.npz.0123456789abcdef.part",
    "yarn-launcher": f"environments/{'a' * 64}.tar.gz",
}
FOREIGN = (
    "NOTES.md",
    "scratch/thesis.tex",
    "recordings/run/NOTES.md",
    "features/run/features/thesis.parquet",
    "shards/run/work/thesis.bin",
    "runs/run/model/best.keras",
    f"runs/run/model/saved-model-{DIGEST}/thesis.pdf",
    "environments/thesis.tar.gz",
)


def put(path: Path) -> None:
    """Make a file that nobody but this user may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    path.chmod(0o600)


def collect(programs: Programs, stage: str, root: Path) -> None:
    """Let the installed stage remove its garbage, however young."""
    words = [word.format(root=root) for word in GC[stage]]
    subprocess.run([programs.paths[stage], *words], check=True, capture_output=True)


@pytest.mark.parametrize("stage", GC)
def test_the_files_of_others_stay(programs: Programs, tmp_path: Path, stage: str) -> None:
    """The stage's own garbage goes, so that the attack is known to have been tried."""
    for name in (*FOREIGN, OURS[stage]):
        put(tmp_path / name)
    collect(programs, stage, tmp_path)
    kept = all((tmp_path / name).exists() for name in FOREIGN)
    gone = not (tmp_path / OURS[stage]).exists()
    refused(f"{stage} gc among files of others", held=kept and gone)


@pytest.mark.parametrize("stage", GC)
def test_what_links_lead_to_stays(programs: Programs, tmp_path: Path, stage: str) -> None:
    """At every folder on the way, and at the file itself: a victim's file of our very name."""
    parts = Path(OURS[stage]).parts
    for depth in range(1, len(parts) + 1):
        root, home = tmp_path / f"root-{depth}", tmp_path / f"home-{depth}"
        linked, victim = root.joinpath(*parts[:depth]), home / "/".join(parts[depth:] or ["file"])
        put(victim)
        linked.parent.mkdir(parents=True)
        linked.symlink_to(home if depth < len(parts) else victim)
        collect(programs, stage, root)
        held = victim.exists() and (linked.is_symlink() or depth == len(parts))
        refused(f"{stage} gc over a link at {'/'.join(parts[:depth])}", held=held)
