"""Errors of a stage that cannot go on.

* StageError
  - Usage              the command line itself is wrong
  - BadData            what came in is not what it should be
  - InputMissing       what was named is not there
  - ServiceDown        something this stage needs does not answer
  - NameTaken          the output exists, made by another recipe
  - OutcomeUnknown     nobody can tell whether it was done: look before running again
  - TryAgain           a peer was lost or time ran out: the same command may succeed
  - NoPermission       this user may not
  - BadConfiguration   a variable or a configuration file is wrong

Each has its exit code in `audioloom_stage.exit_codes`, the only place that knows the numbers.
A stage subclasses the one that fits and needs no entry there.
"""


class StageError(Exception):
    """A stage cannot go on; the error says why.

    Args:
        summary: one sentence without a full stop; left out when `expected` and `found` say it.
        expected: what should have been there.
        found: what was there instead.
        where: the file, field, flag or address that is meant.
        hint: what to do next, as a command or one sentence.
    """

    def __init__(
        self,
        summary: str = "",
        *,
        expected: object = "",
        found: object = "",
        where: object = "",
        hint: str = "",
    ) -> None:
        super().__init__(summary)
        self.summary = summary
        self.expected = str(expected)
        self.found = str(found)
        self.where = str(where)
        self.hint = hint

    def __str__(self) -> str:
        contrast = ", ".join(
            f"{word} {text}"
            for word, text in (("expected", self.expected), ("found", self.found))
            if text
        )
        text = ": ".join(part for part in (self.where, self.summary, contrast) if part)
        return f"{text}. {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (Spark tasks), where keyword arguments do not survive.
        return _blank, (type(self), self.args), self.__dict__


def _blank(kind: type[StageError], args: tuple[object, ...]) -> StageError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class Usage(StageError):
    """The command line itself is wrong."""


class BadData(StageError):
    """A manifest, a recording or a table is not as expected."""


class InputMissing(StageError):
    """An input that was named does not exist."""


class ServiceDown(StageError):
    """A service that this stage needs, such as a name node, does not answer."""


class NameTaken(StageError):
    """The output exists already and was made by another recipe. Nothing was overwritten."""


class OutcomeUnknown(StageError):
    """Nobody can tell whether the work was done: look before running again."""


class TryAgain(StageError):
    """A peer was lost or time ran out: the same command may succeed later."""


class NoPermission(StageError):
    """The user lacks a permission."""


class BadConfiguration(StageError):
    """A variable or a configuration file is wrong."""
