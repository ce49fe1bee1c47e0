import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from audioloom_stage.units import Size
from audioloom_yarn_launcher.errors import NotOffered
from audioloom_yarn_launcher.rendezvous.limits import Resources, mebibytes
from audioloom_yarn_launcher.rendezvous.roles import WORKER
from audioloom_yarn_launcher.yarn.application_spec import (
    CARRIED,
    HEARTBEAT_MS,
    Shape,
    carry,
    check_fits,
    describe,
    unwrap,
    write_heartbeat,
)
from audioloom_yarn_launcher.yarn.skein_application import import_skein
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,7}", fullmatch=True).map("OUR_".__add__)
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)
SHAPE = Shape(
    run_folder="hdfs://nn/loom/runs/1f0e",
    launch="abc",
    queue="default",
    node_label="",
    coordinator=Resources(768, 1),
    roles={WORKER: Resources(4096, 2, 1)},
    environment="hdfs://nn:8020/e/trainer.tar.gz",
    files={"model.py": "file:///home/me/model.py"},
    variables={"A": "b"},
    coordinator_variables={"JAVA_HOME": "/java"},
    advertise="{node}; rm -rf /",
)
NODE = Resources(8192, 8, 2)
SITE = f"""\
<configuration>
  <property><name>yarn.am.liveness-monitor.expiry-interval-ms</name>\
<value>{2 * HEARTBEAT_MS}</value><final>true</final></property>
</configuration>
"""


@pytest.mark.parametrize(
    ("worker", "fits"),
    [
        (Resources(8192, 8, 2), True),
        (Resources(8193, 1), False),
        (Resources(1, 9), False),
        (Resources(1, 1, 3), False),
    ],
)
def test_what_no_node_has_is_refused(worker: Resources, fits: bool) -> None:
    """With the largest there is: memory on one node and a GPU on another are of no use."""
    shape = replace(SHAPE, roles={WORKER: worker})
    if fits:
        check_fits(shape, {"a": NODE, "b": Resources(1, 1)})
        return
    with pytest.raises(NotOffered, match="8192 MiB, 8 vcores, 2 GPUs"):
        check_fits(shape, {"a": NODE, "b": Resources(768, 1)})


def test_a_cluster_without_nodes_is_refused() -> None:
    """It would wait for ever."""
    with pytest.raises(NotOffered, match="no node of the cluster is at work"):
        check_fits(SHAPE, {})
    with pytest.raises(NotOffered, match="carries that label"):
        check_fits(replace(SHAPE, node_label="fast"), {})


def test_skein_takes_the_description() -> None:
    """And keeps what matters: no container is asked for yet, none is started again by skein."""
    asked = describe(SHAPE, launcher="hdfs://nn:8020/e/ours.tar.gz", folder="/x")
    specification = import_skein().ApplicationSpec.from_dict(asked)
    worker = specification.services["worker"]
    assert (0, 0, True) == (worker.instances, worker.max_restarts, worker.allow_failures)
    assert (4096, 2, 1) == (
        worker.resources.memory,
        worker.resources.vcores,
        worker.resources.gpus,
    )
    assert {"launcher", "environment", "model.py"} == set(worker.files)
    assert "PRIVATE" == str(worker.files["environment"].visibility)
    assert {"launcher", "job.json", "heartbeat.jar"} == set(specification.master.files)
    assert {"JAVA_HOME": "/java"} == specification.master.env
    assert {"A": "b"} == worker.env
    assert specification.acls.enable


def test_nobody_else_may_look_unless_named() -> None:
    """Neither at the application and its logs, nor at its page; nobody else may change it."""
    one = replace(SHAPE, view_users=("ann",), ui_users=("bob", "cy"))
    for shape, (view, ui) in ((SHAPE, ([], [])), (one, (["ann"], ["bob", "cy"]))):
        asked = describe(shape, launcher="x.tar.gz", folder="/x")
        acls = import_skein().ApplicationSpec.from_dict(asked).acls
        assert acls.enable
        assert (view, ui) == (acls.view_users, acls.ui_users)
        assert [[], [], []] == [acls.view_groups, acls.modify_users, acls.modify_groups]


@pytest.mark.parametrize(
    ("uri", "public", "visibility"),
    [
        ("hdfs://nn/e.tar.gz", False, "PRIVATE"),
        ("hdfs://nn/e.tar.gz", True, "PUBLIC"),
        ("file:///e.tar.gz", True, "APPLICATION"),
    ],
)
def test_nodes_keep_for_all_only_what_all_may_read(uri: str, public: bool, visibility: str) -> None:
    """The launcher's own stays its user's."""
    shape = replace(SHAPE, environment=uri, public=public)
    services = describe(shape, launcher="hdfs://nn/l.tar.gz", folder="/x")["services"]
    files = services["worker"]["files"]
    assert (visibility, "PRIVATE") == (
        files["environment"]["visibility"],
        files["launcher"]["visibility"],
    )


def test_each_role_is_a_service_of_its_own() -> None:
    """With its own resources; its containers know which they are."""
    shape = replace(SHAPE, roles={"chief": Resources(8192, 4, 1), "ps": Resources(1024, 1)})
    services = describe(shape, launcher="x.tar.gz", folder="/x")["services"]
    assert {"chief": 8192, "ps": 1024} == {
        name: service["resources"]["memory"] for name, service in services.items()
    }
    assert all(f" --role={name} " in service["script"] for name, service in services.items())
    with pytest.raises(NotOffered, match="8192 MiB"):
        check_fits(shape, {"a": Resources(4096, 8, 1)})


def test_a_folder_is_unpacked_under_its_name() -> None:
    """It is shipped as an archive, for this application alone."""
    shape = replace(SHAPE, folders={"mine": "file:///tmp/0.tar.gz"})
    worker = describe(shape, launcher="x.tar.gz", folder="/x")["services"]["worker"]
    assert {
        "source": "file:///tmp/0.tar.gz",
        "type": "ARCHIVE",
        "visibility": "APPLICATION",
    } == worker["files"]["mine"]


def test_no_word_of_a_setting_is_taken_for_shell() -> None:
    """The script is bash's."""
    script = describe(SHAPE, launcher="x.tar.gz", folder="/x")["services"]["worker"]["script"]
    assert "--advertise='{node}; rm -rf /'\n" in script


def test_a_script_is_one_line_that_repeats_nothing() -> None:
    """No `set -x`, which would write a command's words into the container's log."""
    described = describe(SHAPE, launcher="x.tar.gz", folder="/x")
    for each in (described["master"], described["services"]["worker"]):
        assert each["script"].startswith("exec launcher/bin/python -I -m audioloom_yarn_launcher")
        assert 1 == each["script"].count("\n")


@pytest.mark.parametrize(("text", "mib"), [("2 GiB", 2048), ("512MiB", 512)])
def test_memory_is_read(text: str, mib: int) -> None:
    """With or without a space."""
    assert mib == mebibytes(Size.parse(text))


def test_an_application_leads_to_the_folder_of_its_run() -> None:
    """By its name, which all who list applications see."""
    described = describe(SHAPE, launcher="file:///l.tar.gz", folder="/x")
    assert "audioloom hdfs://nn/loom/runs/1f0e" == described["name"]


def test_the_jar_sets_what_skein_takes_half_of(tmp_path: Path) -> None:
    """For good: Hadoop reads its own default of the same property later."""
    jar = tmp_path / "heartbeat.jar"
    write_heartbeat(jar)
    with zipfile.ZipFile(jar) as found:
        assert ["hadoop-site.xml"] == found.namelist()
        assert SITE.split() == found.read("hadoop-site.xml").decode().split()


@pytest.mark.parametrize(
    "value",
    ['{"a": 1}', "$HOME", "`id`", "a\\b", "{{PWD}}", '{"a":{"b":1}}', "a<CPS>b", "two\nlines"],
)
def test_what_a_script_would_change_is_wrapped_up(value: str) -> None:
    """Quotes, dollars, backticks, backslashes, lines, and YARN's own signs."""
    carried = carry({"A": value, "B": "plain"})
    assert {"B", CARRIED} == set(carried)
    assert {"A": value, "B": "plain"} == unwrap(carried)


def test_what_arrives_by_itself_is_left_as_it_is() -> None:
    """For the container too: a path, an address, a list; and all that a NodeManager reads."""
    given = {
        "LD_PRELOAD": "/lib/x.so",
        "OPTIONS": "-Da='b c' {x} <y> #!*~",
        "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS": "/a$b:/c:ro",
    }
    assert given == carry(given)


def test_the_python_of_the_node_is_not_the_commands() -> None:
    """The container's own paths are dropped, and the user's variables stay."""
    there = {"PYTHONPATH": "/node", "PYTHONHOME": "/node", "A": "b"}
    assert {"A": "b"} == unwrap(there)
    assert {"A": "b", "PYTHONPATH": "mine"} == unwrap({**there, **carry({"PYTHONPATH": "mine"})})


@given(st.dictionaries(NAMES, VALUES, max_size=3))
def test_the_script_of_a_container_changes_nothing(variables: dict[str, str]) -> None:
    """Written as YARN writes them, and read by a real shell."""
    lines = [f'export {name}="{value}"\n' for name, value in carry(variables).items()]
    script = "".join(lines) + "env -0"
    ran = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=True, env={})
    pairs = (line.decode().split("=", 1) for line in ran.stdout.split(b"\0") if line)
    there = unwrap({name: value for name, value in pairs if name not in ("PWD", "SHLVL", "_")})
    assert variables == there
