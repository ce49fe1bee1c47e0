import tarfile

import pytest
from audioloom_yarn_launcher.yarn.archive_members import first_fault
from hypothesis import given
from hypothesis import strategies as st

PART = st.sampled_from(["..", ".", "a", "b", "c"])
KINDS = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "hard link": tarfile.LNKTYPE,
    "other": tarfile.CHRTYPE,
}
PATH = st.lists(PART, min_size=1, max_size=5).map("/".join)


def member(name: str, kind: str, target: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = KINDS[kind], target
    return found


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ([member("/etc/passwd", "file")], "leads out"),
        ([member("../x", "file")], "leads out"),
        ([member("a/../../x", "folder")], "leads out"),
        ([member("a", "link", "..")], "which leads or may lead out"),
        ([member("a/b", "link", "../../x")], "which leads or may lead out"),
        ([member("a", "link", "/etc"), member("a/passwd", "file")], "below 'a'"),
        ([member("a", "link", "/etc"), member("./a/b/c", "folder")], "below 'a'"),
        ([member("a", "link", "/etc/passwd"), member("a", "file")], "through a link"),
        ([member("a", "hard link", "/etc/passwd")], "hard link"),
        ([member("a", "hard link", "../x")], "hard link"),
        ([member("a", "link", "/etc"), member("b", "hard link", "a/passwd")], "hard link"),
        ([member("a", "link", "/etc/passwd"), member("b", "hard link", "a")], "hard link"),
        ([member("dev", "other")], "neither a file"),
        (
            [member("a", "link", "/etc"), member("c", "link", "a"), member("c/passwd", "file")],
            "below 'c'",
        ),
        (
            [member("c", "link", "a"), member("a", "link", "/etc"), member("c/passwd", "file")],
            "below 'c'",
        ),
        (
            [
                member("a", "link", "/etc"),
                member("c", "link", "a/x"),
                member("b", "hard link", "c/y"),
            ],
            "hard link",
        ),
        (
            [member("p/q/r", "link", "../.."), member("p/q/r/../../../evil", "file")],
            "below 'p/q/r'",
        ),
        (
            [
                member("p/q/r", "link", "../.."),
                member("z", "link", "p/q/r/../target"),
                member("z/evil", "file"),
            ],
            "below 'z'",
        ),
        ([member("a", "link", "b"), member("a", "file")], "through a link"),
    ],
)
def test_what_leads_out_is_named(members: list[tarfile.TarInfo], told: str) -> None:
    """By itself, or by way of a link that came before."""
    fault = first_fault(members)
    assert fault is not None
    assert told in fault


def test_what_an_environment_has_is_taken() -> None:
    """Links within it, its own folder, and the interpreter of the node."""
    members = [
        member("./", "folder"),
        member("bin/python3", "link", "/usr/bin/python3.11"),
        member("bin/python", "link", "python3"),
        member("lib64", "link", "lib"),
        member("lib/x/../y", "file"),
        member("lib/a", "link", "../bin/python3"),
        member("lib/b", "hard link", "lib/x"),
        member("..data", "file"),
    ]
    assert first_fault(members) is None


@given(PATH)
def test_a_name_is_taken_only_if_it_stays(path: str) -> None:
    """However it winds."""
    depth = lowest = 0
    for part in path.split("/"):
        depth += {"..": -1, ".": 0}.get(part, 1)
        lowest = min(lowest, depth)
    if first_fault([member(path, "file")]) is None:
        assert depth >= 0
    else:
        assert lowest < 0
