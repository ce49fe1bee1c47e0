import zipfile
from pathlib import Path

from audioloom_yarn_launcher.yarn.am_heartbeat import HEARTBEAT_MS, write_heartbeat

SITE = f"""\
<configuration>
  <property><name>yarn.am.liveness-monitor.expiry-interval-ms</name>\
<value>{2 * HEARTBEAT_MS}</value><final>true</final></property>
</configuration>
"""


def test_the_jar_sets_what_skein_takes_half_of(tmp_path: Path) -> None:
    """For good: Hadoop reads its own default of the same property later."""
    jar = tmp_path / "heartbeat.jar"
    write_heartbeat(jar)
    with zipfile.ZipFile(jar) as found:
        assert ["hadoop-site.xml"] == found.namelist()
        assert SITE.split() == found.read("hadoop-site.xml").decode().split()
