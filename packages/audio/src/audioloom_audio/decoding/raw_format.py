"""The format of recordings without a header, which somebody has to say."""

from dataclasses import dataclass
from typing import Literal, get_args

from audioloom_audio.errors import require

Coding = Literal["alaw", "mulaw", "gsm"]


@dataclass(frozen=True)
class RawFormat:
    """The format of recordings without a header.

    Attributes:
        coding: ``alaw``, ``mulaw`` (8 bits a sample) or ``gsm`` (GSM 06.10, 33 bytes for 20 ms).
        sample_rate: Hz.
        channels: Number of interleaved channels; 1 for ``gsm``.

    Raises:
        BadSettings: A value is outside its range; the message names it.
    """

    coding: Coding
    sample_rate: int = 8000
    channels: int = 1

    def __post_init__(self) -> None:
        codings, rate = get_args(Coding), self.sample_rate
        require(self.coding in codings, "coding", f"one of {', '.join(codings)}", self.coding)
        require(1000 <= rate <= 768000, "sample_rate", "1000 to 768000", rate)  # noqa: PLR2004
        most = 1 if self.coding == "gsm" else 64
        require(1 <= self.channels <= most, "channels", f"1 to {most}", self.channels)
