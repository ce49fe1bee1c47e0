from audioloom_quickstart.table import format_table, refused, timing_rows


def test_refusals_are_named() -> None:
    """What was refused stands with its reasons; nothing refused is a plain 0."""
    assert "3 (1 empty, 2 truncated)" == refused(
        {"refused": 3, "refusals": {"truncated": 2, "empty": 1}}
    )
    assert "0" == refused({"refused": 0, "refusals": {}})


def test_seconds_add_up() -> None:
    """The last row is the sum."""
    assert [("scan", "  1.0 s"), ("train", "  2.5 s"), ("in all", "  3.5 s")] == timing_rows(
        {"scan": 1.0, "train": 2.5}
    )


def test_columns_are_aligned() -> None:
    """Values of all sections begin in the same column."""
    text = format_table([[("a", "1")], [("longer", "22")]])
    assert "────────────\n a       1\n────────────\n longer  22\n────────────" == text
