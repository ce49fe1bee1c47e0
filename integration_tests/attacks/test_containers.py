"""`scan` of an archive in which strangers put containers that end the process that lists them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import hostile_containers as hostile
import pytest
from audioloom_quickstart.programs import Programs, read_manifest
from verdict import refused

MOST_MEGABYTES = 1000
ATTACKS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "an Avro type that contains itself": ("b.avro", hostile.endless_type),
    "an Avro array of endless nulls": ("b.avro", hostile.endless_array),
    "a tar.gz of millions of fields": ("b.tar.gz", hostile.many_fields),
    "a tar.gz of millions of holes": ("b.tar.gz", hostile.many_holes),
}


@pytest.mark.parametrize("what", ATTACKS)
def test_a_container_ends_no_scan(programs: Programs, tmp_path: Path, what: str) -> None:
    """The container beside it is listed, in less than a gigabyte."""
    source = tmp_path / "source"
    source.mkdir()
    hostile.good(source / "a.tar")
    name, make = ATTACKS[what]
    make(source / name)
    words = ("scan", str(source), "--root", str(tmp_path / "root"), "--containers")
    with subprocess.Popen(
        [programs.paths["featurizer"], *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        manifest = process.stdout.read().strip()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    listed = process.returncode == 0 and read_manifest(manifest)["stats"]["recordings"] > 0
    megabytes = usage.ru_maxrss >> 10
    refused(f"{what} before scan ({megabytes} MB)", held=listed and megabytes < MOST_MEGABYTES)
