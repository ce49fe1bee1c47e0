from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.backend import Equals, Put


def test_nothing_is_applied_when_one_condition_fails() -> None:
    """A transaction is all or nothing, conditions included."""
    store = MemoryStore()
    store.transaction([], [Put("a", "1")])
    assert not store.transaction(
        [Equals("b", None), Equals("a", "2")], [Put("b", "1"), Put("a", None)]
    )
    assert {"a": "1"} == store.get_prefix("")


def test_missing_and_equals_guard_a_claim() -> None:
    """The second of two claims loses, and a compare-and-swap happens once."""
    store = MemoryStore()
    assert store.transaction([Equals("rank/0", None)], [Put("rank/0", "one")])
    assert not store.transaction([Equals("rank/0", None)], [Put("rank/0", "two")])
    assert store.transaction([Equals("rank/0", "one")], [Put("rank/0", "three")])
    assert not store.transaction([Equals("rank/0", "one")], [Put("rank/0", "four")])
    assert {"rank/0": "three"} == store.get_prefix("rank/")


def test_an_owner_takes_only_its_own_keys_along() -> None:
    """A key put again without an owner outlives whoever owned it before."""
    store = MemoryStore()
    store.transaction(
        [], [Put("a", "1", "one"), Put("b", "1", "one"), Put("c", "1", "two"), Put("d", "1")]
    )
    store.transaction([], [Put("b", "2")])
    store.drop_owner("one")
    assert {"b": "2", "c": "1", "d": "1"} == store.get_prefix("")


def test_hints_come_for_the_prefix_alone_and_until_the_subscription_ends() -> None:
    """Puts, deletes and vanished owners hint; a transaction that failed does not."""
    store = MemoryStore()
    seen: list[str] = []

    def hint() -> None:
        seen.append("hint")

    store.subscribe("a/", hint)
    store.transaction([], [Put("b/1", "1")])
    store.transaction([Equals("b/1", None)], [Put("a/1", "1")])
    assert [] == seen
    store.transaction([], [Put("a/1", "1", "one")])
    store.drop_owner("one")
    assert ["hint", "hint"] == seen
    store.unsubscribe("a/", hint)
    store.transaction([], [Put("a/1", "1")])
    assert ["hint", "hint"] == seen
