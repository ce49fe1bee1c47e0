from pathlib import Path

import pytest
from audioloom_yarn_launcher.yarn.am_logs import last_words, said_in

OUTPUT = """\
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
    assert expected == said_in(OUTPUT).splitlines()
    assert "" == said_in("Can not find any log file matching the pattern")


def test_it_is_asked_again_until_the_logs_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are collected a moment after the end. Without the program nothing is known."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "" == last_words("application_1_1")
    program = tmp_path / "yarn"
    (tmp_path / "output").write_text(OUTPUT)
    program.write_text(
        f"#!/bin/sh\ncd {tmp_path}; [ -e again ] && exec cat output\n>again; echo none; exit 1\n"
    )
    program.chmod(0o755)
    assert "and the coordinator" == last_words("application_1_1").splitlines()[-1]
