"""Asking YARN through a Java that does not answer."""

import threading
from unittest.mock import MagicMock

import pytest
from audioloom_spark import applications
from audioloom_spark.applications import diagnostics


def test_a_cluster_that_does_not_answer_explains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked why the work failed, and that error is told without it."""
    monkeypatch.setattr(applications, "_SECONDS", 0.01)
    over, jvm = threading.Event(), MagicMock()
    client = jvm.org.apache.hadoop.yarn.client.api.YarnClient.createYarnClient.return_value
    client.getApplications.side_effect = lambda _: over.wait(60) and []
    assert "" == diagnostics(jvm, "tag")
    over.set()
