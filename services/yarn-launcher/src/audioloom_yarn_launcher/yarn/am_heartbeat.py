"""How often skein's application master asks the ResourceManager: a file by which it does so.

Of itself it asks every 5 s while it waits for no container. Only when it asks, it hears that one
has ended, and only then another one is asked for: that was most of the time that a gang took to
begin, and to be whole again. skein has no setting for it, but takes half of a property of the
cluster's, and makes no other use of that. The cluster's own files are left as they are: Hadoop also
reads a `hadoop-site.xml`, if there is one on the class path, where each jar is that lies beside the
application master.
"""

import zipfile
from pathlib import Path

HEARTBEAT_MS = 500
_PROPERTY = "yarn.am.liveness-monitor.expiry-interval-ms"
_SITE = f"""\
<configuration>
  <property><name>{_PROPERTY}</name><value>{2 * HEARTBEAT_MS}</value><final>true</final></property>
</configuration>
"""


def write_heartbeat(jar: Path) -> None:
    """Write the jar that sets the interval, for whoever has it on the class path."""
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("hadoop-site.xml", _SITE)
