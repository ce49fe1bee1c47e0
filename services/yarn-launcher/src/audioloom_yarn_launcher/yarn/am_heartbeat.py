"""The interval at which skein's application master asks the ResourceManager, set by a file.

The default is 5 s while no container is pending. The master hears of an ended container only when
it asks, and requests the next one only then. This was most of the time that a gang took to start or
restart. skein has no setting for the interval: it takes half of a cluster property that it uses for
nothing else. Hadoop also reads a `hadoop-site.xml` from the class path, which includes each jar in
the application master's folder. So the cluster's own files stay unchanged.
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
    """Write the jar that sets the interval; it must be on the application master's class path."""
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("hadoop-site.xml", _SITE)
