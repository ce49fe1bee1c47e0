import pytest
from audioloom_yarn_launcher.preflight import local
from audioloom_yarn_launcher.preflight.cluster import ALWAYS, LIFETIME, tokens
from small_hadoop import small_hadoop

WEEK_MS = "604800000"


@pytest.mark.parametrize(
    ("authentication", "ticket", "state"),
    [
        ("kerberos", None, "failure"),
        ("KERBEROS", None, "failure"),
        ("kerberos", "Default principal: me@EXAMPLE.ORG", "ok"),
        ("simple", None, "ok"),
        ("", None, "ok"),
    ],
)
def test_kerberos_wants_a_ticket(
    authentication: str, ticket: str | None, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Kerberos the cluster believes a name."""
    monkeypatch.setattr(local, "ticket", lambda: ticket)
    hadoop = small_hadoop({local.AUTHENTICATION: authentication})
    assert state == local.identity(hadoop, None).state


@pytest.mark.parametrize(
    ("kerberos", "always", "lifetime", "hours", "state"),
    [
        (True, "", WEEK_MS, 168.0, "failure"),
        (True, "", WEEK_MS, 167.0, "ok"),
        (False, "true", WEEK_MS, 169.0, "failure"),
        (True, "", WEEK_MS, None, "warning"),
        (True, "", "", 1.0, "warning"),
        (True, "", "7d", 1.0, "warning"),
        (False, "false", "", None, "ok"),
    ],
)
def test_a_run_that_outlives_its_tokens_is_a_failure(
    kerberos: bool, always: str, lifetime: str, hours: float | None, state: str
) -> None:
    """What nobody says is a warning; without tokens there is nothing to outlive."""
    authentication = "kerberos" if kerberos else "simple"
    values = {local.AUTHENTICATION: authentication, ALWAYS: always, LIFETIME: lifetime}
    assert state == tokens(small_hadoop(values), hours and 3600 * hours).state
