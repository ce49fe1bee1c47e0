"""What can go wrong, and the exit code it ends in.

* DemoVoicesError
  * EngineMissing     69: the synthesiser does not load on this machine
  * SynthesisFailed   69: it loads, but a sentence could not be said
  * VoicesAlike       69: two voices sound the same, so one of them was silently ignored
  * FolderTaken       73: the folder holds something that this program did not make
"""

from typing import ClassVar


class DemoVoicesError(Exception):
    """Anything this program can explain; `exit_code` is what the command line ends with."""

    exit_code: ClassVar[int] = 70


class EngineMissing(DemoVoicesError):
    """The shared library or its data is missing or does not load."""

    exit_code = 69


class SynthesisFailed(DemoVoicesError):
    """The engine refused a voice or a sentence, or its process died."""

    exit_code = 69


class VoicesAlike(DemoVoicesError):
    """Two voices said one sentence with equal bytes.

    eSpeak NG ignores an unknown voice variant without an error. A demo made that way would have
    "unseen" voices that are in the training set under another name.
    """

    exit_code = 69


class FolderTaken(DemoVoicesError):
    """The output folder is not empty and lacks this program's marker."""

    exit_code = 73
