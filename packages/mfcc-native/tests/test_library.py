import re
from importlib.resources import files

import numpy as np
from audioloom_mfcc_native import supported


def test_the_library_loads_under_an_old_libc() -> None:
    """The wheel's tag says 2.17, which is that of the oldest nodes still about."""
    content = files("audioloom_mfcc_native").joinpath("_kernels.so").read_bytes()

    versions = {int(minor) for minor in re.findall(rb"GLIBC_2\.([0-9]+)", content)}

    assert versions
    assert 17 >= max(versions)


def test_denormals_survive_the_loading_of_the_library() -> None:
    """A library linked with -ffast-math flushes them to zero in the whole process."""
    supported()

    assert 0 < np.float32(1e-40) * np.float32(0.5)
