"""Translate the errors of hdfs-native into errors of this package."""

import os
import re

from audioloom_storage.errors import NotConfigured, PermissionDenied, StorageError, Unavailable
from audioloom_storage.location import Location
from audioloom_storage.remote.errors import NEEDS_IDENTITY
from audioloom_storage.remote.errors import translated as translated_java
from audioloom_storage.remote.retry import Outage

_JAVA = re.compile(r'(?:Fatal)?RPCError\("([\w.$]+)", "(.*)"\)', re.DOTALL)
_ESCAPED = re.compile(r"\\(u\{([0-9a-f]+)\}|.)")
_PYTHON = {
    FileNotFoundError: "FileNotFoundException",
    FileExistsError: "FileAlreadyExistsException",
}
_NO_CONFIGURATION = ("No fs.defaultFS", "No NameNode hosts found", "XmlParse")
_IDENTITY = re.compile(r"gssapi|sasl|kerberos|credential", re.IGNORECASE)
_NODE = re.compile(
    r'ip_addr: \\?"([^"\\]+)\\?", host_name: \\?"([^"\\]+)\\?".*?xfer_port: ([0-9]+)'
)
_GSSAPI = re.compile(r'GSSAPIError\(.*"([^"]+)"\)', re.DOTALL)


def translated(error: BaseException, location: Location, *, looking: bool = False) -> StorageError:
    """Return an error of this package; an Outage where no NameNode answered."""
    text = str(error)
    java = _JAVA.fullmatch(text)
    if java is not None:
        said = _ESCAPED.sub(_unescaped, java[2])
        return translated_java(java[1], said, location, looking=looking)
    for kind, name in _PYTHON.items():
        if isinstance(error, kind):
            return translated_java(name, text, location, looking=looking)
    if isinstance(error, OSError):  # a TimeoutError too
        return Outage(f"no NameNode answered: {_said(text)}", where=location, hint=_HINT)
    if any(sign in text for sign in _NO_CONFIGURATION):
        return _not_configured(text, location)
    if _IDENTITY.search(text):
        said = _GSSAPI.sub(r"\1", text)
        found = f"the cluster did not accept who we are: {_said(said)}"
        return PermissionDenied(found, where=location, hint=NEEDS_IDENTITY)
    return _unavailable(error, text, location)


_WHOLE = "Check that the file in HADOOP_TOKEN_FILE_LOCATION, if any, is whole, then run again."
_HINT = "Check that it runs, and that host and port are those of fs.defaultFS, then run again."


def _not_configured(text: str, location: Location) -> NotConfigured:
    folder = os.environ.get("HADOOP_CONF_DIR")
    if "XmlParse" in text:
        found = f"the configuration in {folder} cannot be read: {_said(text)}"
    elif folder is None:
        found = "this location names no NameNode and HADOOP_CONF_DIR is not set"
    elif location.authority:
        found = f"{folder} tells of no nameservice {location.authority!r}, and it has no port"
    else:
        found = f"this location names no NameNode and {folder} holds no fs.defaultFS"
    return NotConfigured(
        found,
        where=location,
        hint="Set HADOOP_CONF_DIR to the folder of the cluster's core-site.xml and hdfs-site.xml, "
        "or name the NameNode: hdfs://HOST:PORT/…",
    )


def _unavailable(error: BaseException, text: str, location: Location) -> Unavailable:
    if "All DataNodes failed" not in text:
        broke = type(error).__name__ == "PanicException"
        found = f"hdfs-native broke: {_said(text)}" if broke else _said(text)
        hint = _WHOLE if broke else "Check that the DataNodes are healthy."
        return Unavailable(found, where=location, hint=hint)
    nodes = [f"{name}:{port} ({address})" for address, name, port in _NODE.findall(text)]
    hint = "Check that they run."
    if "HADOOP_CONF_DIR" not in os.environ:  # such as dfs.client.use.datanode.hostname
        hint += " HADOOP_CONF_DIR is not set: how clients reach them may stand in hdfs-site.xml."
    found = f"no DataNode that has it answered: {', '.join(nodes) or _said(text)}"
    return Unavailable(found, where=location, hint=hint)


def _said(text: str) -> str:
    return text.partition("\n")[0].strip()


def _unescaped(escape: re.Match[str]) -> str:
    if escape[2]:
        return chr(int(escape[2], 16))
    return {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}.get(escape[1], escape[1])
