from audioloom_yarn_launcher.monitoring.tables import arrivals_table
from audioloom_yarn_launcher.rendezvous.backend import Arrival, arrivals, missing_text, silent_text
from audioloom_yarn_launcher.rendezvous.messages import Member, Reports

HERE = Reports(ready={1: Member("worker_0", "n1:4000", "n1", 7)})
SILENT = Arrival(
    "worker_1", "unregistered", host="n2", since_s=12.3, reason="it hangs", tail="a\n\x1bb"
)
WAITING = [Arrival(f"worker_{n}", "not-allocated", reason="no room") for n in range(2, 7)]


def test_who_came_is_first_and_every_reason_is_told_once() -> None:
    """A thousand workers that wait for one queue make one sentence."""
    rows = arrivals(HERE, [SILENT, *WAITING])
    expected = Arrival("worker_0", "registered", 1, "n1", "n1:4000")
    assert (expected, SILENT, *WAITING) == rows
    told = missing_text(rows)
    waiting = "worker_2, worker_3, worker_4 and 2 more: no room"
    assert f"came: worker_0; worker_1: it hangs; {waiting}" == told
    assert "came: none; nothing is known of the others" == missing_text(())


def test_the_last_line_of_what_a_silent_worker_said_is_told() -> None:
    """Or that it has said nothing."""
    assert "last wrote: b" == silent_text("a\nb\n")
    assert "has written nothing" == silent_text("")


def test_the_table_shows_how_far_each_came() -> None:
    """And the words of the silent, of which a terminal obeys none."""
    lines = arrivals_table(arrivals(HERE, [SILENT, *WAITING[:1]]))
    assert [
        "worker    rank  state          host  for   what is known",
        "worker_0  1     registered     n1    -     n1:4000",
        "worker_1  -     unregistered   n2    12 s  it hangs",
        "worker_2  -     not-allocated  -     -     no room",
        "worker_1 wrote last:",
        "  | a",
        "  | \\x1bb",
    ] == lines
    assert [] == arrivals_table(())
