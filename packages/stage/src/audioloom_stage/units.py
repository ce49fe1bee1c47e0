"""Parse sizes and durations as people write them: one parser for all settings."""

import re
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z]{0,3})")
_SIZES = {"": 1, "b": 1}
_SIZES |= {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
_SIZES |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)}
_LARGEST = 10**18
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class _Quantity:
    """A number that people write with a unit."""

    plain: ClassVar[type]
    units: ClassVar[dict[str, int]]
    expected: ClassVar[str]

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read a text or a number.

        Raises:
            PydanticCustomError: a `ValueError`; the text is no such quantity.
        """
        # A float cannot hold every size, so a whole number stays whole.
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LARGEST:
            return cls(value)  # type: ignore[call-arg]
        match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
        unit = cls.units.get(match[2].lower()) if match else None
        if match is None or unit is None:
            wanted = {"expected": cls.expected}
            raise PydanticCustomError("unit", "Input should be {expected}", wanted)
        number = float(match[1]) if "." in match[1] else int(match[1])
        return cls(number * unit)  # type: ignore[call-arg]

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        plain = core_schema.plain_serializer_function_ser_schema(cls.plain)
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=plain)


class Size(_Quantity, int):
    """A number of bytes: `8GB`, `8GiB`, `20 GiB` or `65536`.

    GB counts in thousands and GiB in 1024. In a manifest or in JSON it is a plain number.
    """

    plain, units, expected = int, _SIZES, "a size such as 8GB, 8GiB or 65536"

    @property
    def text(self) -> str:
        """The size in the largest unit that leaves no remainder: `3GiB`."""
        for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
            if self and not self % (1 << power):
                return f"{self >> power}{unit}"
        return str(int(self))


class Duration(_Quantity, float):
    """A number of seconds: `90s`, `30m`, `24h`, `7d` or `90`."""

    plain, units, expected = float, _SECONDS, "a duration such as 90s, 30m, 24h or 7d"

    @property
    def text(self) -> str:
        """The duration in the largest unit that it holds at least twice: `24h`, `90s`."""
        for unit in ("d", "h", "m"):
            seconds = _SECONDS[unit]
            if self >= 2 * seconds and not self % seconds:
                return f"{int(self) // seconds}{unit}"
        return str(float(self)).removesuffix(".0") + "s"
