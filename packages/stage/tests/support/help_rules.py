"""What the command line of every stage keeps to: for the tests of the services."""

from __future__ import annotations

from audioloom_stage.app import StageApp

MOST_WORDS = 12
MOST_UNGROUPED = 9


def broken_rules(app: StageApp) -> list[str]:
    """Find the settings whose help breaks a rule of ours; also that no variable means two things.

    A help text says something, in at most twelve words, begins with a capital and ends with a full
    stop; a page with more options than the eye takes in has them in groups.
    """
    assert app.known  # which refuses two settings of one variable
    found = []
    for command in app.declarations:
        taken = {
            getattr(kind, "__name__", kind) for kind in command.function.__annotations__.values()
        }
        if command.settings.__name__ not in taken:
            found.append(f"{command.name}: its function takes {taken}")
        first = command.help.partition("\n")[0]
        if not first.endswith((".", "--delete.")):
            found.append(f"{command.name}: {first!r} is no sentence")
        ungrouped = [o for o in command.declared if not (o.group or o.positional)]
        if len(ungrouped) > MOST_UNGROUPED:
            found.append(f"{command.name}: {len(ungrouped)} options of no group")
        for option in command.declared:
            words = option.help.split()
            told = f"{command.name} {option.shown}: {option.help!r}"
            if not words or not option.help.endswith("."):
                found.append(f"{told} is no sentence")
            elif not (option.help[0].isupper() or words[0].isupper()):
                found.append(f"{told} begins small")
            if len(words) > MOST_WORDS:
                found.append(f"{told} has {len(words)} words")
    return found
