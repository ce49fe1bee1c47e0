from dataclasses import replace

from audioloom_yarn_launcher.rendezvous.messages import (
    GANG,
    Exit,
    Member,
    Membership,
    Orders,
    Plan,
    decode_membership,
    decode_plan,
    encode,
    read_orders,
    read_reports,
)
from audioloom_yarn_launcher.rendezvous.roles import of_workers

ONE = Member("one", "a:1", "a", 1)
MEMBERSHIP = Membership(3, 1, (ONE,))


def test_messages_come_back_as_they_were() -> None:
    """Also with what a command line may hold."""
    plan = Plan(of_workers(2), ("train", "--label=\u00e9\n'\"", "\udcff"), "hdfs://nn:8020/a", "m")
    assert plan == decode_plan(encode(plan))
    named = replace(plan, roles=of_workers(2, chief=True))
    assert named == decode_plan(encode(named))
    assert MEMBERSHIP == decode_membership(encode(MEMBERSHIP))


def test_orders_of_another_generation_do_not_count() -> None:
    """A membership or an end that was meant for an earlier one is not read."""
    keys = {
        "gang/order/generation": "1",
        GANG.order("membership", 0): encode(Membership(2, 0, (ONE,))),
        GANG.order("end", 0): "0",
    }
    assert Orders(generation=1) == read_orders(keys)
    keys |= {
        GANG.order("membership", 1): encode(MEMBERSHIP),
        GANG.order("end", 1): "5",
        "gang/order/outcome": "x",
    }
    assert Orders(1, MEMBERSHIP, 5.0, over=True) == read_orders(keys)
    assert Orders() == read_orders({})


def test_reports_of_another_generation_do_not_count() -> None:
    """Ranks are held through all of them."""
    end = Exit("one", code=3, stopped=False)
    keys = {
        GANG.report("rank", 0): "one",
        GANG.report("ready", 0, 0): encode(Member("old", "a:0", "a", 1)),
        GANG.report("ready", 1, 0): encode(ONE),
        GANG.report("exit", 0, 0): encode(Exit("old", code=1, stopped=False)),
        GANG.report("exit", 1, 0): encode(end),
        GANG.report("first", 0): "7",
        GANG.report("first", 1): "0",
    }
    reports = read_reports(keys, 1)
    assert ({0: "one"}, {0: ONE}, {0: end}, 0) == (
        reports.ranks,
        reports.ready,
        reports.exits,
        reports.first,
    )


def test_the_reports_of_a_large_gang_fit_in_one_answer() -> None:
    """Even if all its processes fail at once: only the first keeps all of its last lines."""
    size, tail = 4000, "Ошибка\n" * 200
    told = {}
    for rank in range(size):
        me = f"worker_{rank}"
        member = Member(me, f"node-{rank}.example.com:40000", f"node-{rank}.example.com", 40000)
        times = {"started": "2026-01-01T00:00:00.000Z", "ended": "2026-01-01T00:00:00.000Z"}
        end = Exit(me, code=1, stopped=False, pid=40000, tail=tail, **times)
        told[GANG.report("rank", rank)] = me
        told[GANG.report("ready", 0, rank)] = encode(member)
        told[GANG.report("exit", 0, rank)] = encode(end.after_the_first(size) if rank else end)
    assert sum(len(key) + len(value) for key, value in told.items()) < 4 << 20
    exits = read_reports(told, 0).exits
    assert tail == exits[0].tail
    assert tail.endswith(exits[1].tail)
    assert "Ошибка\n" in exits[1].tail


def test_a_process_that_did_not_fail_reports_no_output() -> None:
    """Nobody shows it; a small gang keeps all of what failed."""
    for code, stopped, kept in ((0, False, ""), (-9, True, ""), (1, False, "why\n")):
        end = Exit("one", code=code, stopped=stopped, tail="why\n")
        assert replace(end, tail=kept) == end.after_the_first(2)
