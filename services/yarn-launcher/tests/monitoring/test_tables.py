from audioloom_yarn_launcher.monitoring.tables import facts, table
from hypothesis import given
from hypothesis import strategies as st

words = st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=30).map(" ".join)


def test_a_long_fact_goes_on_below_itself() -> None:
    """Its name stands alone on the left."""
    named = {"run": "a", "because": "one two three four five six seven"}
    assert [
        "run      a",
        "because  one two three four five six",
        "         seven",
    ] == facts(named, 40)
    assert ["run      a", "because  one two three four five six seven"] == facts(named)


def test_the_last_column_of_a_table_goes_on_below_itself() -> None:
    """The others are as wide as they must be."""
    rows = [("n", "why"), ("10", "one two three four five six seven")]
    assert [
        "n   why",
        "10  one two three four five six",
        "    seven",
    ] == table(rows, 34)


@given(st.dictionaries(st.text("xyz", min_size=1, max_size=8), words, min_size=1), words)
def test_nothing_is_lost_and_lines_fit(named: dict[str, str], more: str) -> None:
    """Whatever is told."""
    shown = facts({**named, "more": more}, 60)
    assert all(len(line) <= 60 for line in shown)
    told = " ".join(" ".join(shown).split())
    assert all(word in told.split() for text in (*named.values(), more) for word in text.split())


def test_what_a_terminal_would_obey_is_escaped() -> None:
    """Records and logs come from outside."""
    assert ["a  \\x1b[2Jb"] == facts({"a": "\x1b[2Jb"})
