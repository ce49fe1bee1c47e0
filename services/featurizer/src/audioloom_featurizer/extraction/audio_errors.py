"""The errors of the audio package, as those of this stage."""

from collections.abc import Iterator
from contextlib import contextmanager

from audioloom_audio import BadSettings, MissingDecoder

from audioloom_featurizer.errors import InvalidOption, MissingLibrary


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the stage's errors for a missing library or invalid settings."""
    try:
        yield
    except MissingDecoder as error:
        raise MissingLibrary(
            str(error),
            hint="Install what is missing, or choose another --engine. Then run the command again"
            " to resume.",
        ) from error
    except BadSettings as error:
        raise InvalidOption(str(error)) from error
