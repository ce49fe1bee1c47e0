import json
from dataclasses import replace

from audioloom_stage.redaction import MASK, redact_words
from audioloom_yarn_launcher.rendezvous.messages import Member, Membership, Plan
from audioloom_yarn_launcher.rendezvous.roles import Group, leads, of_workers
from audioloom_yarn_launcher.worker.environment import environment, hidden, restore, tf_config
from hypothesis import given
from hypothesis import strategies as st

MEMBERS = tuple(Member(f"worker-{n}", f"node-{n}:{n}", f"node-{n}", n) for n in (5, 6))
MEMBERSHIP = Membership(attempt=4, generation=2, members=MEMBERS)
PLAN = Plan(of_workers(2), ("train",), "hdfs://nn/runs/x", "abc")


def test_the_cluster_is_the_same_for_all_and_the_index_is_not() -> None:
    """Addresses stand in the order of the ranks."""
    assert {
        "cluster": {"worker": ["node-5:5", "node-6:6"]},
        "task": {"type": "worker", "index": 1},
    } == tf_config(PLAN, MEMBERSHIP, 1)


def test_the_first_may_be_called_chief() -> None:
    """Then the others are numbered from 0, and it is the chief that writes for all."""
    plan = replace(PLAN, roles=of_workers(2, chief=True))
    assert {
        "cluster": {"chief": ["node-5:5"], "worker": ["node-6:6"]},
        "task": {"type": "worker", "index": 0},
    } == tf_config(plan, MEMBERSHIP, 1)
    assert [True, False] == [leads(plan.roles, rank) for rank in range(2)]
    others = environment({"TB_PORT": "1"}, plan, MEMBERSHIP, 1)
    assert ("worker", "0", "false") == (
        others["JOB_NAME"],
        others["TASK_INDEX"],
        others["IS_CHIEF"],
    )
    assert "TB_PORT" not in others


def test_an_evaluator_is_not_in_the_cluster() -> None:
    """It knows of it; the others do not know of the evaluator."""
    plan = replace(PLAN, roles=(Group("chief", 1), Group("evaluator", 1)))
    cluster = {"chief": ["node-5:5"]}
    assert {"cluster": cluster, "task": {"type": "chief", "index": 0}} == tf_config(
        plan, MEMBERSHIP, 0
    )
    assert {"cluster": cluster, "task": {"type": "evaluator", "index": 0}} == tf_config(
        plan, MEMBERSHIP, 1
    )


def test_the_environment_is_the_workers_and_says_who_it_is() -> None:
    """What was there before of another gang does not stay; what the user set does."""
    base = {
        "PATH": "/bin",
        "PYTHONUNBUFFERED": "",
        "TF_CONFIG": "old",
        "AUDIOLOOM_RUN_ATTEMPT": "9",
        "TB_PORT": "1",
    }
    assert {
        "PATH": "/bin",
        "PYTHONUNBUFFERED": "",
        "TF_CONFIG": json.dumps(tf_config(PLAN, MEMBERSHIP, 0)),
        "TF_GRPC_REUSE_PORT": "true",
        "JOB_NAME": "worker",
        "TASK_INDEX": "0",
        "TASK_NUM": "2",
        "CLUSTER_SPEC": '{"worker": ["node-5:5", "node-6:6"]}',
        "IS_CHIEF": "true",
        "TB_PORT": "6006",
        "AUDIOLOOM_RUN_FOLDER": "hdfs://nn/runs/x",
        "AUDIOLOOM_RUN_ATTEMPT": "4",
        "AUDIOLOOM_RUN_GENERATION": "2",
    } == environment(base, PLAN, MEMBERSHIP, 0, page_port=6006)


WORDS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(["--password", "--token", "TOKEN=a", "x://u:p@h", "-Dsecret=b", MASK]),
    ),
    max_size=6,
)


def test_what_hides_nothing_needs_no_variable() -> None:
    """Such a command is the usual one."""
    assert {} == hidden(["audioloom-trainer", "run", "--epochs=20"])


@given(WORDS)
def test_what_is_masked_can_be_restored(command: list[str]) -> None:
    """Word for word: the command runs as it was given."""
    assert tuple(command) == restore(redact_words(command), hidden(command))
