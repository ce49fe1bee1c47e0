"""What `doctor` says of identity and tokens; who asks is `doctor_here` and `doctor_cluster`."""

from __future__ import annotations

from audioloom_yarn_launcher.preflight.findings import Finding, cannot_tell, failure, ok

HOUR_MS = 3_600_000
LIFETIME = "dfs.namenode.delegation.token.max-lifetime"
ALWAYS = "dfs.namenode.delegation.token.always-use"
AUTHENTICATION = "hadoop.security.authentication"


def identity(authentication: str, user: str, ticket: str | None) -> Finding:
    """Of who asks.

    Args:
        authentication: `hadoop.security.authentication`, "" if it is not set.
        user: the name here.
        ticket: what proves it, a ticket that is good or a keytab; None if nothing does.
    """
    if authentication.lower() != "kerberos":
        return ok("identity", f"{user}, which the cluster believes (no Kerberos)")
    if ticket is None:
        return failure(
            "identity",
            "the cluster has Kerberos, and there is no ticket that is good",
            "kinit, or --keytab and --principal",
        )
    return ok("identity", ticket)


def token_lifetime(
    *, kerberos: bool, always: str, lifetime_ms: str, planned_hours: float | None
) -> Finding:
    """Of how long containers may read HDFS, against how long the run is to take.

    Args:
        kerberos: whether the cluster has it.
        always: `dfs.namenode.delegation.token.always-use`.
        lifetime_ms: the longest life of a token, however often it is renewed; "" if nobody tells.
        planned_hours: of the run; None if nobody said.
    """
    if not kerberos and always.lower() != "true":
        return ok("tokens", "none are needed: the cluster has no Kerberos")
    if not lifetime_ms.isdecimal():
        return cannot_tell("tokens", f"nobody says how long they live ({LIFETIME})")
    hours = int(lifetime_ms) / HOUR_MS
    mend = (
        f"End the run before {hours:g} h are over and give the same command again: it goes on from"
        " its last checkpoint with new tokens."
    )
    if planned_hours is None:
        text = f"they live {hours:g} h, and nobody said how long the run takes"
        return cannot_tell("tokens", text, "Give --planned-duration.")
    if planned_hours >= hours:
        return failure("tokens", f"they live {hours:g} h, {planned_hours:g} h are planned", mend)
    return ok("tokens", f"they live {hours:g} h, {planned_hours:g} h are planned")
