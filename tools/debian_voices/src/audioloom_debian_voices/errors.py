"""What can go wrong, and the exit code it ends in.

* DebianVoicesError
  * NotVerified        65: what arrived is not what the registry signed
  * UnexpectedContent  65: the package does not hold recordings where we know them
  * PackageUnknown     66: the registry answers, but has no such package
  * RegistrySilent     69: the registry does not answer
  * FolderTaken        73: the folder holds something that this program did not make
  * ToolMissing        78: apt-get or dpkg-deb is not installed
"""

from typing import ClassVar


class DebianVoicesError(Exception):
    """Anything this program can explain; `exit_code` is what the command line ends with."""

    exit_code: ClassVar[int] = 70


class NotVerified(DebianVoicesError):
    """A signature, checksum or size did not fit."""

    exit_code = 65


class UnexpectedContent(DebianVoicesError):
    """The package does not unpack, or its recordings lie somewhere else."""

    exit_code = 65


class PackageUnknown(DebianVoicesError):
    """None of apt's sources has the package."""

    exit_code = 66


class RegistrySilent(DebianVoicesError):
    """No list of packages or no package could be downloaded."""

    exit_code = 69


class FolderTaken(DebianVoicesError):
    """The output folder is not empty and lacks this program's marker."""

    exit_code = 73


class ToolMissing(DebianVoicesError):
    """A program that this one runs is not on the PATH."""

    exit_code = 78
