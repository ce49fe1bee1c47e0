from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest
from audioloom.client.runs import open_run
from audioloom_manifest.reader import Opened
from audioloom_stage.errors import BadData
from audioloom_storage import Location
from small_network import arrays, network
from small_root import make_training


def test_a_model_is_built_with_its_weights(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """It answers what the trained one answers, and is compiled."""
    model = network()
    made = make_training(
        root, runs["shards"], "real", model=model.to_json().encode(), weights=arrays(model)
    )
    again: Any = open_run(made.folder).model()
    windows = np.arange(12, dtype="f").reshape(2, 2, 3)
    np.testing.assert_array_equal(model(windows), again(windows))
    assert again.compiled


@pytest.mark.parametrize(
    ("architecture", "told"),
    [
        (b"{}", "no architecture"),
        (b"[", "classes, found"),
        (b'{"module": "os", "class_name": "system", "config": {}}', "os.system"),
        (b'{"module": "keras", "class_name": "Functional", "config": {}}', "this Keras builds"),
    ],
)
def test_what_is_not_of_keras_is_refused(
    root: Location, runs: dict[str, Opened[Any]], architecture: bytes, told: str
) -> None:
    """Nothing that a run names is imported."""
    made = make_training(root, runs["shards"], "odd", model=architecture)
    with pytest.raises(BadData, match=told):
        open_run(made.folder).model()


def test_half_precision_comes_back(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """NumPy has no type for bfloat16, and its archive holds raw bytes."""
    model = network("bfloat16")
    made = make_training(
        root, runs["shards"], "half", model=model.to_json().encode(), weights=arrays(model)
    )
    for expected, found in zip(
        model.get_weights(), open_run(made.folder).model().get_weights(), strict=True
    ):
        assert expected.dtype == found.dtype
        np.testing.assert_array_equal(expected, found)


def test_other_weights_are_refused(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """Of another shape, none at all, text, and a header that claims more memory than there is."""
    model = network()
    few, words, huge = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(few, one=np.zeros(1))
    np.savez(words, *(np.full(each.shape, "a") for each in model.get_weights()))
    with zipfile.ZipFile(huge, "w") as archive:
        text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}\n"
        size = len(text).to_bytes(2, "little")
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + size + text.encode())
    for name, weights in {
        "few": few.getvalue(),
        "none": b"",
        "words": words.getvalue(),
        "huge": huge.getvalue(),
    }.items():
        architecture = model.to_json().encode()
        made = make_training(root, runs["shards"], name, model=architecture, weights=weights)
        with pytest.raises(BadData, match="expected weights of the model"):
            open_run(made.folder).model()


def test_a_model_of_the_older_keras_is_told(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """With the way to have it."""
    made = make_training(root, runs["shards"], "older", keras="legacy")
    with pytest.raises(BadData, match=r"found a model of tf_keras\. audioloom-trainer export"):
        open_run(made.folder).model()
