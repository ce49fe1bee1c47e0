from pathlib import Path

import pytest
from audioloom_yarn_launcher.yarn import container_logs as log_page
from audioloom_yarn_launcher.yarn.container_logs import last_words, last_words_of, said_in
from audioloom_yarn_launcher.yarn.containers import ContainerState
from launcher_processes import configure

PAGE = """\
Container: container_1_1_01_000002 on 127.0.0.11:51097
LogAggregationType: LOCAL
=====================================================================
LogType:worker.log
LogLastModifiedTime:Mon Nov 23 06:36:51 +0000 2026
LogLength:{}
LogContents:
{}End of LogType:worker.log.This log file belongs to a running container (container_1_1_01_000002)\
 and so may not be complete.
***************************************************************************


"""  # as a node of Hadoop 3.4.3 answers


def container(node: str, container: str, service: str) -> ContainerState:
    return ContainerState(f"{service}_0", "RUNNING", node, container=container)


def test_containers_that_nobody_can_ask_have_no_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a configuration, without a node, or with one that is gone."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    assert {} == last_words_of([container("127.0.0.1:1", "c", "worker")])
    configure(tmp_path, monkeypatch, "127.0.0.1:1")
    assert {"c": ""} == last_words_of(
        [
            container("127.0.0.1:1", "c", "worker"),
            container("", "d", "ps"),
            container("n:1", "", "ps"),
        ]
    )


def test_a_node_is_asked_for_the_end_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the service's own log, by the id of the container."""
    configure(tmp_path, monkeypatch, "127.0.0.1:1")
    asked: list[str] = []
    said = ["one\ntwo\n", "one\ntwo", "", f"ut off\n{'x' * 2041}"]
    lengths = [8, 7, 0, 5000]

    def answer(page: str, most_bytes: int) -> bytes:
        asked.append(page)
        turn = len(asked) - 1
        return PAGE.format(lengths[turn], said[turn]).encode()[:most_bytes]

    monkeypatch.setattr(log_page, "fetch", answer)
    found = [last_words_of([container("node:1", "c", "worker")])["c"] for _ in said]
    assert ["one\ntwo", "one\ntwo", "", "x" * 2041] == found
    assert {"http://node:1/ws/v1/node/containers/c/logs/worker.log?size=-2048"} == set(asked)


OF_A_MASTER = """\
Container: container_1_0005_01_000001 on 127.0.0.11_50751
LogType:application.master.log
LogLength:275
LogContents:
26/11/23 09:57:21 WARN conf.Configuration: yarn-site.xml:an attempt to override final parameter: x
Error: A JNI error has occurred
Exception in thread "main" java.lang.Error: x
\tat java.lang.ClassLoader.defineClass1(Native Method)

End of LogType:application.master.log
***************************************************************************************
LogType:application.driver.log
LogContents:
and the coordinator

End of LogType:application.driver.log
"""


def test_only_what_was_said_is_taken() -> None:
    """Of both files, without the frame that `yarn logs` puts around, and without a trace."""
    expected = [
        "Error: A JNI error has occurred",
        'Exception in thread "main" java.lang.Error: x',
        "and the coordinator",
    ]
    assert expected == said_in(OF_A_MASTER).splitlines()
    assert "" == said_in("Can not find any log file matching the pattern")


def test_it_is_asked_again_until_the_logs_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are collected a moment after the end. Without the program nothing is known."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "" == last_words("application_1_1")
    program = tmp_path / "yarn"
    (tmp_path / "output").write_text(OF_A_MASTER)
    program.write_text(
        f"#!/bin/sh\ncd {tmp_path}; [ -e again ] && exec cat output\n>again; echo none; exit 1\n"
    )
    program.chmod(0o755)
    assert "and the coordinator" == last_words("application_1_1").splitlines()[-1]
