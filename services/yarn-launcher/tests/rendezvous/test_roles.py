import pytest
from audioloom_yarn_launcher.rendezvous.roles import Group, Task, by_role, leader, of_workers, task
from hypothesis import given
from hypothesis import strategies as st

GROUPS = st.lists(
    st.tuples(st.sampled_from(["chief", "ps", "worker"]), st.integers(0, 5)),
    unique_by=lambda each: each[0],
).map(lambda pairs: tuple(Group(*pair) for pair in pairs))


def test_a_rank_beyond_the_last_is_nobody() -> None:
    """It is an error of the caller's, not a worker more."""
    with pytest.raises(IndexError, match="no rank 3"):
        task(of_workers(3, chief=True), 3)


@pytest.mark.parametrize(
    ("size", "chief", "groups"),
    [
        (1, False, (Group("worker", 1),)),
        (1, True, (Group("chief", 1),)),
        (3, True, (Group("chief", 1), Group("worker", 2))),
    ],
)
def test_one_of_the_workers_may_be_the_chief(
    size: int, chief: bool, groups: tuple[Group, ...]
) -> None:
    """It is one of them, not one more; a chief alone has no workers."""
    assert groups == of_workers(size, chief=chief)


def test_the_chief_leads_and_otherwise_the_first_worker() -> None:
    """Wherever their ranks are."""
    assert Task("chief", 0) == leader((Group("worker", 2), Group("chief", 1)))
    assert Task("worker", 0) == leader((Group("ps", 1), Group("worker", 2)))


@given(groups=GROUPS)
def test_each_rank_is_found_where_the_cluster_says(groups: tuple[Group, ...]) -> None:
    """What a rank is called, and where its address stands in the cluster, are the same."""
    addresses = [f"node:{rank}" for rank in range(sum(group.count for group in groups))]
    found = by_role(groups, addresses)
    tasks = [task(groups, rank) for rank in range(len(addresses))]
    assert addresses == [found[each.role][each.index] for each in tasks]
