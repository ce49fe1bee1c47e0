"""`hdfs` and `yarn` for people and for skein, which asks `yarn classpath --glob`.

As Hadoop's own, they take the configuration that HADOOP_CONF_DIR names.
"""

from __future__ import annotations

import shlex
from pathlib import Path

_CLASSES = {
    "hdfs": {
        "dfs": "org.apache.hadoop.fs.FsShell",
        "dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin",
        "fetchdt": "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher",
        "fsck": "org.apache.hadoop.hdfs.tools.DFSck",
    },
    "yarn": {
        "application": "org.apache.hadoop.yarn.client.cli.ApplicationCLI",
        "node": "org.apache.hadoop.yarn.client.cli.NodeCLI",
        "queue": "org.apache.hadoop.yarn.client.cli.QueueCLI",
        "logs": "org.apache.hadoop.yarn.client.cli.LogsCLI",
        "rmadmin": "org.apache.hadoop.yarn.client.cli.RMAdminCLI",
    },
}
_NAMED = {"application"}  # its class serves several words, and wants to see which


def write_programs(folder: Path, conf: Path, jars: Path, java: Path) -> None:
    """Write the two programs into the folder `bin` of a cluster's *folder*."""
    native = shlex.quote(f"-Djava.library.path={folder / 'native'}")
    (folder / "bin").mkdir()
    for program, classes in _CLASSES.items():
        cases = "".join(
            f'  {word}) set -- {name}{" " + word if word in _NAMED else ""} "$@" ;;\n'
            for word, name in classes.items()
        )
        path = folder / "bin" / program
        path.write_text(f"""\
#!/bin/sh
conf=${{HADOOP_CONF_DIR:-{shlex.quote(str(conf))}}}
classpath="$conf:"{shlex.quote(f"{jars}/*")}
command=$1
[ $# -gt 0 ] && shift
case "$command" in
  classpath) printf '%s' "$conf"
    for jar in {shlex.quote(str(jars))}/*.jar; do printf ':%s' "$jar"; done
    echo; exit 0 ;;
{cases}  *) echo "usage: {program} classpath|{"|".join(classes)} …" >&2; exit 2 ;;
esac
exec {shlex.quote(str(java))} -Xmx256m -XX:TieredStopAtLevel=1 {native} -cp "$classpath" "$@"
""")
        path.chmod(0o755)
