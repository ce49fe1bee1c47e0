"""The secrets of a command, which workers get separately from the masked command.

The masked words travel in a variable that workers do not pass on to the command.
"""

import json
from collections.abc import Mapping, Sequence

from audioloom_stage.redaction import redact_words

VARIABLE = "AUDIOLOOM_RUN_SECRETS"
"""For workers: what the masked words are, by their place in the command, as JSON."""


def hidden(command: Sequence[str]) -> dict[str, str]:
    """Encode the words that `redact_words` masks as a variable for workers; {} without any."""
    masked = redact_words(command)
    words = {str(place): word for place, word in enumerate(command) if masked[place] != word}
    if not words:
        return {}
    return {VARIABLE: json.dumps(words)}


def restore(command: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Restore the words that `redact_words` masked, from the variable that `hidden` made."""
    words = json.loads(variables.get(VARIABLE, "{}"))
    return tuple(words.get(str(place), word) for place, word in enumerate(command))
