"""Declarations of commands. A command's settings model is looked up when it is needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from audioloom_stage.result import Result

if TYPE_CHECKING:
    from pydantic import BaseModel

    from audioloom_stage._options import Option

Model = TypeVar("Model", bound="BaseModel")


@dataclass(frozen=True)
class Declaration(Generic[Model]):
    """One command.

    Attributes:
        stages: every stage that reads this configuration file.
        name: the words of the command: `run`, `env pack`.
        given: the settings model, if it was passed.
        module: the module that holds the settings model that the function's annotation names.
        known: returns the settings of all commands of the stage.
    """

    stage: str
    stages: tuple[str, ...]
    program: str
    name: str
    function: Callable[[Model], Result]
    given: type[Model] | None
    module: str
    known: Callable[[], frozenset[str]]

    @property
    def kind(self) -> str:
        """The `kind` in the JSON object of the command's result."""
        return f"audioloom.{self.stage}.{self.name.replace(' ', '.')}"

    @property
    def help(self) -> str:
        """The help text of the command, from the function's docstring."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def settings(self) -> type[Model]:
        """The settings model.

        Raises:
            TypeError: the function's annotation names no settings model.
        """
        if self.given is not None:
            return self.given
        hints = [kind for key, kind in self.function.__annotations__.items() if key != "return"]
        if len(hints) == 1 and isinstance(hints[0], type):
            return cast("type[Model]", hints[0])
        found = getattr(import_module(self.module), hints[0], None) if self._names(hints) else None
        if not isinstance(found, type):
            raise TypeError(
                f"{self.name}: annotate its one argument with a settings model of"
                f" {self.module or 'the module that stage_app(settings=…) names'}"
            )
        return cast("type[Model]", found)

    def _names(self, hints: list[object]) -> bool:
        return bool(self.module) and len(hints) == 1 and isinstance(hints[0], str)

    @cached_property
    def declared(self) -> tuple[Option, ...]:
        """The options of the settings model."""
        from audioloom_stage._options import options  # noqa: PLC0415 - it imports pydantic

        return options(self.settings, self.stage)
