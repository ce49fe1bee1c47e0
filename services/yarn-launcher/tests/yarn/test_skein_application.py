import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import Put
from audioloom_yarn_launcher.rendezvous.messages import ORDER
from audioloom_yarn_launcher.yarn import skein_application
from audioloom_yarn_launcher.yarn.credentials import mint
from audioloom_yarn_launcher.yarn.skein_application import (
    SkeinStore,
    client_kind,
    current_application,
    import_skein,
)


@pytest.fixture
def frozen() -> Iterator[str]:
    """Where somebody listens who never answers, as an application master that was stopped."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        yield f"127.0.0.1:{silent.getsockname()[1]}"


@pytest.mark.filterwarnings("ignore:distutils Version classes")  # skein's
def test_a_store_that_does_not_answer_is_lost(frozen: str) -> None:
    """Not waited for, for ever."""
    skein = import_skein()
    client = client_kind(0.2)(frozen, "application_1_1", mint(skein, datetime.now(UTC)))
    store = SkeinStore(client)
    with pytest.raises(StoreLost, match="Unable to connect"):
        store.get_prefix(ORDER)
    with pytest.raises(StoreLost, match="Unable to connect"):
        store.transaction([], [Put("a", "b")])


@pytest.mark.filterwarnings("ignore:distutils Version classes")  # skein's
def test_a_stream_of_events_that_broke_is_replaced_by_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store may answer all the same, and nobody else would wake a worker."""
    monkeypatch.setattr(skein_application, "HINT_EVERY_S", 0.01)
    error = import_skein().exceptions.ConnectionError("too slow")
    gets = iter(["an event", error, error, error])

    class Events:
        def subscribe(self, **_: str) -> None:
            pass

        def get(self) -> object:
            found = next(gets, None)
            if isinstance(found, Exception):
                raise found
            return found or threading.Event().wait()  # for ever

    hints = threading.Semaphore(0)
    application = SimpleNamespace(kv=SimpleNamespace(event_queue=Events))
    SkeinStore(application).subscribe(ORDER, hints.release)
    for _ in range(4):
        assert hints.acquire(timeout=60)


def test_outside_of_a_container_there_is_no_application(monkeypatch: pytest.MonkeyPatch) -> None:
    """As skein says it."""
    monkeypatch.delenv("SKEIN_APPLICATION_ID", raising=False)
    with pytest.raises(ValueError, match="Not running inside a container"):
        current_application()
