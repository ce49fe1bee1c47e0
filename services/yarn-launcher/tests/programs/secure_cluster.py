# ruff: noqa: S607, T201 - programs of Kerberos, by their names
"""A KDC of its own, and a mini-cluster of one node that believes nobody without it.

    secure_cluster.py FOLDER MAPREDUCE_JAR

Prints one line of JSON when it works, and ends with its input. Needs Debian's krb5-kdc,
krb5-admin-server and krb5-user; and the jar of hadoop-mapreduce-client-core, by which skein asks
for tokens and which the mini-cluster does without.
"""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

from audioloom_mini_cluster import cluster, plan
from audioloom_mini_cluster.jars import default_cache, ensure_jars
from audioloom_mini_cluster.java import find_java
from audioloom_mini_cluster.native import unpack_native
from audioloom_mini_cluster.subreaper import end_descendants

REALM = "LOOM.TEST"
DAEMON, USER = f"loom/loom@{REALM}", f"me@{REALM}"


def begin_kdc(folder: Path) -> dict[str, str]:
    """Start a KDC that knows the daemons and one user; the variables of who uses it."""
    (port,) = plan.free_ports("127.0.0.1", 1)
    (folder / "krb5.conf").write_text(
        f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n"
        " dns_lookup_realm = false\n rdns = false\n dns_canonicalize_hostname = false\n"
        f" udp_preference_limit = 1\n[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
    )
    (folder / "kdc.conf").write_text(
        f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n"
        f"  key_stash_file = {folder}/stash\n  kdc_listen = 127.0.0.1:{port}\n"
        f"  kdc_tcp_listen = 127.0.0.1:{port}\n }}\n"
    )
    variables = {
        "KRB5_CONFIG": f"{folder}/krb5.conf",
        "KRB5_KDC_PROFILE": f"{folder}/kdc.conf",
        "KRB5CCNAME": f"{folder}/cache",
    }
    os.environ.update(variables)

    def do(*words: str) -> None:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    do("kdb5_util", "create", "-s", "-r", REALM, "-P", "of no account")
    for keytab, *principals in (("daemons", DAEMON, f"HTTP/loom@{REALM}"), ("me", USER)):
        for principal in principals:
            do("kadmin.local", "-q", f"addprinc -randkey {principal}")
            do("kadmin.local", "-q", f"ktadd -k {folder}/{keytab}.keytab {principal}")
    subprocess.Popen(["krb5kdc", "-n"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return variables


def secured(folder: Path) -> dict[str, dict[str, str]]:
    """What the configuration says beside."""
    keytab = f"{folder}/daemons.keytab"
    hdfs = {
        "dfs.web.authentication.kerberos.principal": f"HTTP/loom@{REALM}",
        "dfs.web.authentication.kerberos.keytab": keytab,
        "dfs.block.access.token.enable": "true",
        "ignore.secure.ports.for.testing": "true",
    }
    for each in ("namenode", "datanode"):
        hdfs |= {f"dfs.{each}.kerberos.principal": DAEMON, f"dfs.{each}.keytab.file": keytab}
    yarn: dict[str, str] = {}
    for each in ("resourcemanager", "nodemanager"):
        yarn |= {f"yarn.{each}.principal": DAEMON, f"yarn.{each}.keytab": keytab}
    core = {"hadoop.security.authentication": "kerberos"}
    return {"core-site.xml": core, "hdfs-site.xml": hdfs, "yarn-site.xml": yarn}


def begin_cluster(folder: Path, option: str, more: dict[str, dict[str, str]], jar: Path) -> str:
    """Start the daemons; the line that describes them."""
    java, jars = find_java(), folder / "jars"
    jars.mkdir()
    for each in [*ensure_jars(default_cache(), java=java).iterdir(), jar]:
        (jars / each.name).symlink_to(each)
    unpack_native(default_cache(), folder / "native", java=java)
    cluster.JVM_OPTIONS = (*cluster.JVM_OPTIONS, option)
    plain = plan.lay_out

    def lay_out(*words: object) -> plan.Layout:
        layout = plain(*words)  # type: ignore[arg-type]

        def wider(conf: object) -> dict[str, object]:
            return {name: {**of, **more.get(name, {})} for name, of in dict(conf).items()}  # type: ignore[call-overload]

        daemons = [dataclasses.replace(one, conf=wider(one.conf)) for one in layout.daemons]
        return dataclasses.replace(layout, daemons=tuple(daemons), client=wider(layout.client))

    cluster.lay_out = lay_out  # type: ignore[assignment]
    cluster.Cluster.make_home = lambda _: None  # type: ignore[method-assign] - it asks without
    made = cluster.start(folder, jars, java, plan.Size(nodes=1))
    return json.dumps(
        {
            "root": f"{made.layout.namenode}/loom",
            "conf": str(made.conf),
            "variables": {**made.environment, "JAVA_TOOL_OPTIONS": option},
        }
    )


def main() -> None:
    folder, jar = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        variables = begin_kdc(folder)
        option = f"-Djava.security.krb5.conf={folder}/krb5.conf"
        said = json.loads(begin_cluster(folder, option, secured(folder), jar))
        said["variables"] |= variables
        path = f"{said['variables']['PATH']}:{os.environ['PATH']}"
        admin = {**os.environ, **said["variables"], "PATH": path}
        words: tuple[tuple[str, ...], ...] = (
            ("kinit", "-kt", f"{folder}/daemons.keytab", DAEMON),
            ("hdfs", "dfs", "-mkdir", "-p", "/user/me", "/loom"),
            ("hdfs", "dfs", "-chown", "me", "/user/me", "/loom"),
            ("kdestroy",),
        )
        for each in words:
            subprocess.run(each, env=admin, check=True, stdout=sys.stderr)
        print(json.dumps(said), flush=True)
        sys.stdin.read()
    finally:
        end_descendants()


if __name__ == "__main__":
    main()
