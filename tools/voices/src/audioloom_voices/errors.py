"""What can go wrong, and the exit code it ends in.

* VoicesError
  * NotVerified        65: what arrived is not what the registry signed
  * UnexpectedContent  65: the package does not hold recordings where we know them
  * PackageUnknown     66: the registry answers, but has no such package
  * EngineMissing      69: the synthesiser does not load on this machine
  * SynthesisFailed    69: it loads, but a sentence could not be said
  * VoicesAlike        69: two voices sound the same, so one of them was silently ignored
  * RegistrySilent     69: the registry does not answer
  * FolderTaken        73: the folder holds something that this command did not make
  * ToolMissing        78: apt-get or dpkg-deb is not installed
"""

from typing import ClassVar


class VoicesError(Exception):
    """Anything this program can explain; `exit_code` is what the command line ends with."""

    exit_code: ClassVar[int] = 70


class NotVerified(VoicesError):
    """A signature, checksum or size did not fit."""

    exit_code = 65


class UnexpectedContent(VoicesError):
    """The package does not unpack, or its recordings lie somewhere else."""

    exit_code = 65


class PackageUnknown(VoicesError):
    """None of apt's sources has the package."""

    exit_code = 66


class EngineMissing(VoicesError):
    """The synthesiser's shared library or its data is missing or does not load."""

    exit_code = 69


class SynthesisFailed(VoicesError):
    """The engine refused a voice or a sentence, or its process died."""

    exit_code = 69


class VoicesAlike(VoicesError):
    """Two voices said one sentence with equal bytes.

    eSpeak NG ignores an unknown voice variant without an error. A demo made that way would have
    "unseen" voices that are in the training set under another name.
    """

    exit_code = 69


class RegistrySilent(VoicesError):
    """No list of packages or no package could be downloaded."""

    exit_code = 69


class FolderTaken(VoicesError):
    """The output folder is not empty and lacks this command's marker."""

    exit_code = 73


class ToolMissing(VoicesError):
    """A program that this one runs is not on the PATH."""

    exit_code = 78
