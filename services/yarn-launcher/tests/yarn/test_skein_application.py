import socket
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import Put
from audioloom_yarn_launcher.rendezvous.messages import ORDER
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


def test_outside_of_a_container_there_is_no_application(monkeypatch: pytest.MonkeyPatch) -> None:
    """As skein says it."""
    monkeypatch.delenv("SKEIN_APPLICATION_ID", raising=False)
    with pytest.raises(ValueError, match="Not running inside a container"):
        current_application()
