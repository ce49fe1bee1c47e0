"""Errors of a stage that cannot go on.

Each has its exit code in `audioloom_stage.exit_codes`, the only place that knows the numbers.
A stage subclasses the one that fits and needs no entry there.
"""

from copyreg import __newobj__ as blank  # type: ignore[attr-defined]


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
        expected = self.expected and f"expected {self.expected}"
        found = self.found and f"found {self.found}"
        contrast = ", ".join(filter(None, (expected, found)))
        text = ": ".join(filter(None, (self.where, self.summary, contrast)))
        return f"{text}. {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (Spark tasks), where keyword arguments do not survive.
        return blank, (type(self), *self.args), self.__dict__


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
