import re
from importlib.resources import files
from pathlib import Path

import numpy as np
from audioloom_audio_native import best_level


def test_the_library_loads_under_an_old_libc() -> None:
    """The wheel's tag says 2.17, which is that of the oldest nodes still about."""
    content = files("audioloom_audio_native").joinpath("_kernels.so").read_bytes()

    versions = {int(minor) for minor in re.findall(rb"GLIBC_2\.([0-9]+)", content)}

    assert versions
    assert 17 >= max(versions)


def test_denormals_survive_the_loading_of_the_library() -> None:
    """A library linked with -ffast-math flushes them to zero in the whole process."""
    best_level()

    assert 0 < np.float32(1e-40) * np.float32(0.5)


def test_the_level_is_what_the_system_says_of_the_processor() -> None:
    """Linux lists what it lets programs use; whoever compiled the library asks in the same way."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    line = next(line for line in lines if line.startswith("flags"))
    flags = set(line.split(":")[1].split())
    of_v3 = {"fma", "movbe", "f16c", "abm", "avx2", "bmi1", "bmi2"}
    of_v4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

    assert (4 if of_v3 | of_v4 <= flags else 3 if of_v3 <= flags else 0) == best_level()
