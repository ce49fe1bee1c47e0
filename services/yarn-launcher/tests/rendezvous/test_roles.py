import pytest
from audioloom_yarn_launcher.rendezvous.roles import Group, by_role, leads, of_workers, tasks
from hypothesis import given
from hypothesis import strategies as st

GROUPS = st.lists(
    st.tuples(st.sampled_from(["chief", "ps", "worker"]), st.integers(0, 5)),
    unique_by=lambda each: each[0],
).map(lambda pairs: tuple(Group(*pair) for pair in pairs))


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
    chief_is_last = (Group("worker", 2), Group("chief", 1))
    assert [False, False, True] == [leads(chief_is_last, rank) for rank in range(3)]
    no_chief = (Group("ps", 1), Group("worker", 2))
    assert [False, True, False] == [leads(no_chief, rank) for rank in range(3)]


@given(groups=GROUPS)
def test_each_rank_is_found_where_the_cluster_says(groups: tuple[Group, ...]) -> None:
    """What a rank is called, and where its address stands in the cluster, are the same."""
    addresses = [f"node:{rank}" for rank in range(sum(group.count for group in groups))]
    found = by_role(groups, addresses)
    assert addresses == [found[group.role][index] for group, index in tasks(groups)]
