"""Choose the signals that become windows: single channels, or the average of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from audioloom_audio.errors import BadChannels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from audioloom_audio.settings import Channels

MIX: Final = -1
MAX_CHANNELS: Final = 64


def signal_numbers(wanted: Channels, channels: int, name: str) -> tuple[int, ...]:
    """The numbers of the channels to extract; `MIX` is the average of all.

    Raises:
        BadChannels: There are too many channels, or the wanted channel is missing.
    """
    if channels > MAX_CHANNELS:
        raise BadChannels(
            name, expected=f"at most {MAX_CHANNELS} channels", found=f"{channels} channels"
        )
    if wanted == "mix":
        return (MIX,)
    if wanted == "split":
        return tuple(range(channels))
    number = {"left": 0, "right": 1}[wanted]
    if number >= channels:
        raise BadChannels(
            name, expected="two channels, to take the right one", found="a mono recording"
        )
    return (number,)


def take_signals(
    block: NDArray[np.float32], numbers: tuple[int, ...]
) -> tuple[NDArray[np.float32], ...]:
    """Take the signals *numbers* of a block ``(frames, channels)``, each ``(frames,)``."""
    return tuple(_mix(block) if number == MIX else block[:, number] for number in numbers)


def _mix(block: NDArray[np.float32]) -> NDArray[np.float32]:
    """Average the channels, added in their order, so the bits do not depend on the block length."""
    channels = block.shape[1]
    if channels == 1:
        return block[:, 0]
    with np.errstate(over="ignore", invalid="ignore"):  # a later check finds infinity
        total = block[:, 0] + block[:, 1]
        for number in range(2, channels):
            total += block[:, number]
        total /= np.float32(channels)
    return total
