import threading
from typing import Any

import pytest
from audioloom_yarn_launcher.rendezvous.roles import of_workers
from audioloom_yarn_launcher.yarn import container_workers
from audioloom_yarn_launcher.yarn.container_workers import SkeinWorkers
from audioloom_yarn_launcher.yarn.skein_application import import_skein


@pytest.mark.filterwarnings("ignore:distutils Version classes")  # skein's
def test_a_call_that_fails_does_not_end_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator is woken each time, because its own call decides whether all is lost."""
    monkeypatch.setattr(container_workers, "LOOK_EVERY_S", 0.01)
    error = import_skein().exceptions.ConnectionError("too slow")

    class Application:
        def get_containers(self, **_: Any) -> list[Any]:
            raise error

    woken = threading.Semaphore(0)
    workers = SkeinWorkers(of_workers(2), woken.release, application=Application())
    for _ in range(3):
        assert woken.acquire(timeout=60)
    workers.close()
