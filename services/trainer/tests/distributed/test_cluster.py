from __future__ import annotations

import json

import pytest
from audioloom_stage.errors import BadConfiguration
from audioloom_trainer.distributed.cluster import Cluster, read_cluster

PAIR = {"worker": ["a:1", "b:1"]}


@pytest.mark.parametrize(
    ("workers", "here"), [(("alone",), 1), (("a:1", "b:1"), 1), (("a:1", "b:1", "a:2"), 2)]
)
def test_workers_of_one_host_share_its_cores(workers: tuple[str, ...], here: int) -> None:
    """Whatever their ports."""
    assert here == Cluster(workers, 0).here


def config(cluster: object, task: object) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


@pytest.mark.parametrize(
    ("cluster", "task"),
    [
        (PAIR, {"type": "worker", "index": 2}),
        (PAIR, {"type": "worker", "index": -1}),
        (PAIR, {"type": "worker", "index": 0.5}),
        (PAIR, {"type": "chief", "index": 0}),
        (PAIR, {"type": ["worker"], "index": 0}),
        (PAIR, "worker"),
        (PAIR, None),
        ({"worker": ["a:1", "a:1"]}, {"type": "worker", "index": 0}),
        ({"worker": []}, {"type": "worker", "index": 0}),
        ({"worker": [3]}, {"type": "worker", "index": 0}),
        ({"worker": [""]}, {"type": "worker", "index": 0}),
        ({"worker": "a:1"}, {"type": "worker", "index": 0}),
        ({"worker": 3}, {"type": "worker", "index": 0}),
        ({"chief": ["a:1", "b:1"]}, {"type": "chief", "index": 0}),
        ({"ps": ["a:1"], "worker": ["b:1"]}, {"type": "worker", "index": 0}),
        ({"evaluator": ["a:1"]}, {"type": "evaluator", "index": 0}),
        (["a:1"], {"type": "worker", "index": 0}),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(cluster: object, task: object) -> None:
    """Before TensorFlow reads it, which would wait for ever or end without a word."""
    with pytest.raises(BadConfiguration, match="TF_CONFIG"):
        read_cluster(config(cluster, task))


@pytest.mark.parametrize("text", ["{", "[]", "3", '"worker"', "\0"])
def test_what_is_no_object_is_refused(text: str) -> None:
    """With what it looks like, and how to do without."""
    with pytest.raises(BadConfiguration, match="unset it to train alone"):
        read_cluster({"TF_CONFIG": text})


@pytest.mark.parametrize(
    "environment", [{}, {"TF_CONFIG": ""}, {"TF_CONFIG": "{}"}, {"TF_CONFIG": '{"cluster": {}}'}]
)
def test_without_a_cluster_a_process_is_alone(environment: dict[str, str]) -> None:
    """And the chief of itself."""
    assert Cluster() == read_cluster(environment)
    assert (1, True) == (read_cluster(environment).size, read_cluster(environment).is_chief)


@pytest.mark.parametrize("index", [1, "1"])
def test_workers_are_ranked_by_their_index(index: object) -> None:
    """The index may be text, as some launchers write it."""
    found = read_cluster(config(PAIR, {"type": "worker", "index": index}))
    assert (Cluster(("a:1", "b:1"), 1), False) == (found, found.is_chief)


@pytest.mark.parametrize(("kind", "index", "rank"), [("chief", 0, 0), ("worker", 1, 2)])
def test_a_chief_comes_before_the_workers(kind: str, index: int, rank: int) -> None:
    """As TensorFlow counts."""
    found = read_cluster(config({"chief": ["c:1"], **PAIR}, {"type": kind, "index": index}))
    assert (rank, 3) == (found.rank, found.size)
