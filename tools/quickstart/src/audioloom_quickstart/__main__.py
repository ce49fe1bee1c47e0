"""`python -m audioloom_quickstart quickstart|realdata|compare [--short] [--cluster] [--folder X]`.

Options that are not known here are the featurizer's: `--feature log-mel`, `--sample-rate 8000`.

Exit code 0: what has to hold holds, or there was nothing to run it on and nobody counts on it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audioloom_mini_cluster.client import Running, running
from audioloom_mini_cluster.errors import MiniClusterError
from audioloom_storage_testing.s3_server import running_s3

from audioloom_quickstart.compare import compare
from audioloom_quickstart.containers import PACKERS
from audioloom_quickstart.programs import Programs, StepFailedError, programs_from_environment
from audioloom_quickstart.quickstart import UNSEEN, Wish, quickstart, quickstart_on
from audioloom_quickstart.realdata import SkippedError, realdata
from audioloom_quickstart.table import look_further, summary

NAME_TAKEN = 73
S3 = "s3://"
FOLDERS = {"quickstart": "quickstart", "realdata": "realdata", "compare": "quickstart"}


def main() -> int:
    """Run what was asked for; the exit code says whether it held."""
    asked, wish = _asked()
    folder = asked.folder or (
        Path(tempfile.mkdtemp(prefix="audioloom-")) if asked.short else Path(FOLDERS[asked.what])
    )
    try:
        programs = programs_from_environment()
        if asked.cluster:
            _on_a_cluster(programs, folder.resolve(), wish)
        elif asked.what == "quickstart":
            with _root(asked.root) as root:
                print(f"\n{quickstart(programs, folder.resolve(), wish, root=root)}")
        elif asked.what == "realdata":
            print(f"\n{realdata(programs, folder.resolve())}")
        else:
            print(f"\n{compare(programs, folder.resolve())}")
    except SkippedError as reason:
        print(f"\nSkipped: {reason}")
    except MiniClusterError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except StepFailedError as error:
        print(f"\n{error}", file=sys.stderr)
        if error.exit_code == NAME_TAKEN:
            print(f"Remove {folder}, which another run has left, to begin anew.", file=sys.stderr)
        return 1
    finally:
        if asked.short and not asked.folder:
            shutil.rmtree(folder)
    return 0


def _asked() -> tuple[argparse.Namespace, Wish]:
    parser = argparse.ArgumentParser(prog="audioloom_quickstart", description=__doc__)
    parser.add_argument("what", choices=[*FOLDERS])
    parser.add_argument("--short", action="store_true", help="a small set in a temporary folder")
    parser.add_argument("--cluster", action="store_true", help="quickstart: on HDFS and YARN, here")
    parser.add_argument("--folder", type=Path, help="where everything is written")
    parser.add_argument("--root", help=f"quickstart: another root, such as {S3} (a server here)")
    parser.add_argument("--containers", choices=[*PACKERS], help="quickstart: pack the recordings")
    asked, features = parser.parse_known_args()
    own = {"--cluster": asked.cluster, "--root": asked.root, "--containers": asked.containers}
    if asked.what != "quickstart" and (flags := [*filter(own.get, own), *features]):
        parser.error(f"{flags[0]} is for quickstart, not for {asked.what}")
    if asked.cluster and asked.root:
        parser.error("the root of --cluster is in its HDFS: leave --root out")
    return asked, Wish(
        short=asked.short,
        containers=asked.containers,
        features=tuple(features),
        kept=asked.root != S3 and bool(asked.folder or not asked.short),
    )


@contextmanager
def _root(asked: str | None) -> Iterator[str | None]:
    """The root that was asked for; that of an S3 server of this machine where no bucket is named.

    The object store of these tests, because a server of one's own takes a minute to set up.
    """
    if asked != S3:
        yield asked
        return
    with running_s3() as store:
        os.environ.update(store.environment)
        yield f"{store.root}/loom"


def _on_a_cluster(programs: Programs, folder: Path, wish: Wish) -> None:
    with running(python=programs.paths["mini_cluster"]) as cluster, cluster.exported():
        outcome = quickstart_on(cluster, programs, folder, wish)
        print(f"\n{summary(programs, outcome, unseen=UNSEEN)}")
        if sys.stdin.isatty():
            _keep(cluster)
            print(look_further(programs, outcome), flush=True)
            sys.stdin.read()


def _keep(cluster: Running) -> None:
    """Let a person look around: all that was made ends with the cluster."""
    print("The cluster is there until Ctrl-D. In another terminal:")
    for name in ("HADOOP_CONF_DIR", "JAVA_HOME"):
        print(f"  export {name}={cluster.environment[name]}")
    print(f"  export PATH={cluster.environment['PATH']}:$PATH")
    print(f"Its pages: {', '.join(cluster.pages.values())}")


if __name__ == "__main__":
    sys.exit(main())
