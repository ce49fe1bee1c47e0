"""`explain`: why a run ended as it did, over all its attempts, and what to do."""

from collections.abc import Iterator, Mapping, Sequence

from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_runs.tables import facts, table
from audioloom_stage.escapes import safe_text
from audioloom_stage.result import JSON, Result, result_columns

from audioloom_yarn_launcher.monitoring.failure_report import LAST_BYTES, Explanation, explained
from audioloom_yarn_launcher.monitoring.log_reader import last_lines
from audioloom_yarn_launcher.monitoring.root_cause import FailureCause, alike
from audioloom_yarn_launcher.monitoring.run_status import RunStatus, locate_run, read_run_status
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.runs.record import check_manifest
from audioloom_yarn_launcher.runs.sidecar_events import SidecarHistory, read_histories
from audioloom_yarn_launcher.settings import RunOnlySettings, command_line

LAST_LINES = 8
_COLUMNS = ("attempt", "begun (UTC)", "outcome", "cause")
_AGAIN = "Run the same command again to go on."
_HINTS = {
    "memory": "Run the same command again with more --memory (or `memory` of its role).",
    "node": _AGAIN,
    "killed": f"Find out on that host who killed it, or whether memory ran out (dmesg). {_AGAIN}",
    "repeats": "Fix that first: the same command would fail in the same way.",
    "failed": "Fix that first. If the program is not at fault, run the same command again.",
    "frozen": f"Check whether that host or its network is overloaded. {_AGAIN}",
    "interrupted": _AGAIN,
    "allocation": "Ask for less, take another --queue, or raise --timeout-allocation.",
    "registration": "See how far each worker came with `status`, or raise --timeout-registration.",
    "execution": f"Raise --timeout-execution if it needs more time. {_AGAIN}",
    "launcher": _AGAIN,
    "echo": "Read the logs: each worker only reports that it lost another one.",
}


def show_explanation(settings: RunOnlySettings) -> Result:
    """Explain why the run ended as it did; ManifestError of a damaged manifest."""
    folder = locate_run(settings.run)
    view = read_run_status(folder)
    if view.state == "committed":
        check_manifest(folder / MANIFEST_NAME)
    found = explained(view)
    first, columns = found.first, result_columns()
    text = facts(_facts(view, found), columns=columns).splitlines()
    if first is not None and first.rank is not None:
        lines = last_lines(folder, first.rank, first.attempt, LAST_BYTES)
        if last := [line for line in lines if line.strip()][-LAST_LINES:]:
            text += ["", "last output", *(f"  | {safe_text(line)}" for line in last)]
    if len(view.attempts) > 1 or (view.attempts and first is None):
        text += ["", *table(_COLUMNS, _rows(view, found.ranked), columns=columns).splitlines()]
    text += _sidecars(stories := read_histories(folder))
    follow: tuple[str, ...] = ()
    if first is not None and first.rank is not None:
        words = (f"--rank={first.rank}", f"--attempt={first.attempt}")
        follow = (command_line("logs", folder, *words),)
    return Result(text, _data(view, found, stories), next=follow)


def _facts(view: RunStatus, explanation: Explanation) -> dict[str, str]:
    known, bad, first = explanation.known, explanation.bad, explanation.first
    found = {"run": f"{view.folder.name}: {_headline(view, bad)}"}
    if view.state == "committed":
        found["manifest"] = str(view.folder / MANIFEST_NAME)
    if first is None:
        if view.pending is not None:
            found["because"] = view.pending.because
        return found
    found["first cause"] = first.text
    if first.echoes:
        found["then"] = "; ".join(first.echoes)
    if others := alike(bad, first):
        found["the same in"] = f"attempt{'s' * (len(others) > 1)} {', '.join(map(str, others))}"
    workers = [each for each in known[first.attempt].workers if first.rank in (None, each.rank)]
    if steps := [each.step for each in workers if each.step is not None]:
        found["at step"] = f"{max(steps):,}"
    if first.rank is not None:
        found["log"] = str(view.folder / log_name(view.folder, first.rank, first.attempt))
    found["try"] = known[first.attempt].hint or _HINTS[first.kind]
    return found


def _headline(view: RunStatus, bad: Sequence[FailureCause]) -> str:
    size = len(view.attempts)
    attempts = f"{size} attempt{'s' * (size != 1)}"
    failed = f"{len(bad)} of {attempts} did not end well" if bad else ""
    match view.state:
        case "committed" | "finished":
            return f"{view.state}" + (f", though {failed}" if failed else ", nothing went wrong")
        case "waiting":
            return "its application waits" + (f"; {failed}" if failed else "")
        case "forming" | "running" | "restarting":
            return f"at work ({view.state})" + (f", though {failed}" if failed else "")
        case "unknown":
            return "whether its launcher lives cannot be told from here"
        case _ if view.last is None or view.last.ended is None:
            return f"{view.state} after {attempts}"
        case _:
            return f"{view.state} after {attempts}, with exit code {view.last.ended.exit_code}"


def _sidecars(stories: Mapping[int, SidecarHistory]) -> Iterator[str]:
    for story in stories.values():
        if story.failures:
            times = len(story.failures)
            who = f"the sidecar {story.last.role} {story.last.index}"
            often = "" if times == 1 else f"failed {times} times; the last time it "
            then = {"running": "it runs again", "restarting": "it is restarted"}
            ending = then.get(story.state, "it was given up")
            yield from ("", safe_text(f"{who} {often}{story.failures[-1]}: {ending}"))


def _rows(view: RunStatus, ranked: Mapping[int, FailureCause | None]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for each in view.attempts:
        found = ranked[each.number]
        began = each.started.started[:19].replace("T", " ")
        ended = each.ended
        outcome: str = view.state if each is view.last else "lost"
        if ended is not None:
            how = f" ({ended.exit_code})" + (", again" if ended.restarts else "")
            outcome = ended.outcome + (how if ended.exit_code else "")
        rows.append((str(each.number), began, outcome, found.sentence if found else "-"))
    return rows


def _data(
    view: RunStatus, explanation: Explanation, stories: Mapping[int, SidecarHistory]
) -> dict[str, JSON]:
    return {
        "run": view.folder.uri,
        "state": view.state,
        "first_cause": _found(explanation.first),
        "attempts": [
            {"attempt": number, "first_cause": _found(each)}
            for number, each in explanation.ranked.items()
        ],
        "sidecars": [
            {
                "rank": rank,
                "role": each.last.role,
                "index": each.last.index,
                "state": each.state,
                "starts": each.starts,
                "failures": list(each.failures),
            }
            for rank, each in stories.items()
        ],
    }


def _found(first: FailureCause | None) -> JSON:
    if first is None:
        return None
    told = {name: getattr(first, name) for name in ("attempt", "kind", "rank", "text")}
    return told | {"host": first.host or None, "echoes": list(first.echoes)}
