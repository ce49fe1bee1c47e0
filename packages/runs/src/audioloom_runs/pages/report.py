"""`report`: write the page of one run into a file."""

from collections.abc import Iterator
from typing import Any

from audioloom_manifest.reader import Opened
from audioloom_stage.errors import NameTaken
from audioloom_stage.escapes import safe_text
from audioloom_stage.result import Result
from audioloom_storage import AlreadyExists, locate, open_read, publish

from audioloom_runs.pages.markup import Markup, element, page
from audioloom_runs.pages.parts import facts
from audioloom_runs.tables import duration_text


def write_report(opened: Opened[Any], sections: Markup, to: str) -> Result:
    """Write a page of facts about a run and of *sections* to a new file, and return its place.

    Raises:
        NameTaken: another file lies there.
    """
    manifest, target = opened.manifest, locate(to)
    title = element("h1", manifest.name, element("small", f" {manifest.kind}"))
    text = page(f"{manifest.name}: {manifest.kind}", "", title, facts(_about(opened)), sections)
    data = text.encode()
    try:
        publish(target, data)
    except AlreadyExists:
        with open_read(target) as file:
            same = file.read(len(data) + 1) == data
        if not same:
            raise NameTaken(
                where=target,
                expected="nothing, or this page",
                found="another file",
                hint="Nothing is overwritten: remove it, or give another --to.",
            ) from None
    return Result(str(target), {"run": str(opened.folder), "report": str(target)})


def _about(opened: Opened[Any]) -> Iterator[tuple[str, str]]:
    manifest = opened.manifest
    execution = manifest.execution
    yield "created", f"{manifest.created:%Y-%m-%d %H:%M} UTC"
    yield "duration", duration_text((execution.finished - execution.started).total_seconds())
    yield "made by", f"audioloom-{manifest.producer.stage} {manifest.producer.version}"
    yield "host", execution.host
    yield "made from", ", ".join(f"{each.kind} {each.name}" for each in manifest.inputs)
    yield "location", safe_text(opened.folder)
    yield "identity", manifest.identity
