"""The driver of a gang or a sidecar: it writes the orders and reads the reports of a scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from audioloom_yarn_launcher.rendezvous import messages
from audioloom_yarn_launcher.rendezvous.backend import Equals, KeyValueStore, Put, Workers


@dataclass(frozen=True)
class Driver:
    """Writes the orders of a *scope*, of the gang or of a sidecar, and reads its reports."""

    store: KeyValueStore
    workers: Workers
    ranks: Sequence[int]
    scope: messages.Scope = messages.GANG

    def begin(self, generation: int) -> None:
        """Order the workers to get ready for a generation, and request the missing workers."""
        old, of_ranks = generation - 1, ["ready", "exit"]
        if self.scope != messages.GANG:
            of_ranks.append("page")
        forget = [self.scope.order(each, old) for each in ("membership", "end")]
        forget.append(self.scope.report("first", old))
        forget += [self.scope.report(each, old, rank) for each in of_ranks for rank in self.ranks]
        number = Put(self.scope.order("generation"), str(generation))
        self.store.transaction([], [number, *(Put(key, None) for key in forget)])
        self.workers.request_missing()

    def freeze(
        self, generation: int, ready: Mapping[int, messages.Member], membership: messages.Membership
    ) -> bool:
        """Order the *ready* workers to start; False if a worker has vanished or changed."""
        key = self.scope.order("membership", generation)
        still = [
            Equals(self.scope.report("ready", generation, rank), messages.encode(member))
            for rank, member in ready.items()
        ]
        return self.store.transaction(
            [Equals(key, None), *still], [Put(key, messages.encode(membership))]
        )

    def end(self, generation: int, grace_s: float) -> None:
        """Order the processes of a generation to end."""
        self.store.transaction([], [Put(self.scope.order("end", generation), str(grace_s))])

    def close(self) -> None:
        """Order the workers to leave."""
        self.store.transaction([], [Put(self.scope.order("outcome"), "over")])

    def note_first_failure(self, generation: int, rank: int) -> None:
        """Report a failure in place of a worker that could not; only the first report counts."""
        key = self.scope.report("first", generation)
        self.store.transaction([Equals(key, None)], [Put(key, str(rank))])

    def reports(self, generation: int) -> messages.Reports:
        """Read the reports of the workers on a generation."""
        return messages.read_reports(
            self.store.get_prefix(self.scope.report("")), generation, self.scope
        )
