import pytest
from audioloom_yarn_launcher.yarn.archive_members import Member, first_fault
from hypothesis import given
from hypothesis import strategies as st

PART = st.sampled_from(["..", ".", "a", "b", "c"])
PATH = st.lists(PART, min_size=1, max_size=5).map("/".join)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ([Member("/etc/passwd", "file")], "leads out"),
        ([Member("../x", "file")], "leads out"),
        ([Member("a/../../x", "folder")], "leads out"),
        ([Member("a", "link", "..")], "which leads out"),
        ([Member("a/b", "link", "../../x")], "which leads out"),
        ([Member("a", "link", "/etc"), Member("a/passwd", "file")], "below 'a'"),
        ([Member("a", "link", "/etc"), Member("./a/b/c", "folder")], "below 'a'"),
        ([Member("a", "link", "/etc/passwd"), Member("a", "file")], "through a link"),
        ([Member("a", "hard link", "/etc/passwd")], "hard link"),
        ([Member("a", "hard link", "../x")], "hard link"),
        ([Member("a", "link", "/etc"), Member("b", "hard link", "a/passwd")], "hard link"),
        ([Member("a", "link", "/etc/passwd"), Member("b", "hard link", "a")], "hard link"),
        ([Member("dev", "other")], "neither a file"),
    ],
)
def test_what_leads_out_is_named(members: list[Member], told: str) -> None:
    """By itself, or by way of a link that came before."""
    fault = first_fault(members)
    assert fault is not None
    assert told in fault


def test_what_an_environment_has_is_taken() -> None:
    """Links within it, its own folder, and the interpreter of the node."""
    members = [
        Member("./", "folder"),
        Member("bin/python3", "link", "/usr/bin/python3.11"),
        Member("bin/python", "link", "python3"),
        Member("lib64", "link", "lib"),
        Member("lib/x/../y", "file"),
        Member("lib/a", "link", "../bin/python3"),
        Member("lib/b", "hard link", "lib/x"),
        Member("..data", "file"),
    ]
    assert first_fault(members) is None


@given(PATH)
def test_a_name_is_taken_only_if_it_stays(path: str) -> None:
    """However it winds."""
    depth = lowest = 0
    for part in path.split("/"):
        depth += {"..": -1, ".": 0}.get(part, 1)
        lowest = min(lowest, depth)
    if first_fault([Member(path, "file")]) is None:
        assert depth >= 0
    else:
        assert lowest < 0
