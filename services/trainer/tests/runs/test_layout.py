from __future__ import annotations

import pytest
from audioloom_stage.errors import BadConfiguration
from audioloom_storage import UnsafePath, locate
from audioloom_trainer.runs.layout import Launch, read_launch


@pytest.mark.parametrize("name", ["AUDIOLOOM_RUN_ATTEMPT", "AUDIOLOOM_RUN_GENERATION"])
@pytest.mark.parametrize("text", ["-1", "one", "1.0", " 1"])
def test_a_number_that_is_none_is_refused(name: str, text: str) -> None:
    """By the variable's name."""
    with pytest.raises(BadConfiguration, match=name):
        read_launch({name: text})


def test_a_folder_with_a_way_out_is_refused() -> None:
    """As every URI is."""
    with pytest.raises(UnsafePath):
        read_launch({"AUDIOLOOM_RUN_FOLDER": "file:///a/../b"})


def test_started_by_hand_there_is_no_folder() -> None:
    """An empty variable counts as none."""
    assert Launch() == read_launch({}) == read_launch({"AUDIOLOOM_RUN_FOLDER": ""})


def test_a_launcher_names_folder_attempt_generation_and_the_file_for_progress() -> None:
    """The contract between launcher and trainer."""
    environment = {
        "AUDIOLOOM_RUN_FOLDER": "file:///data/runs/x",
        "AUDIOLOOM_RUN_ATTEMPT": "3",
        "AUDIOLOOM_RUN_GENERATION": "2",
        "AUDIOLOOM_RUN_PROGRESS": "/proc/7/fd/9",
    }
    assert Launch(locate("/data/runs/x"), 3, 2, "/proc/7/fd/9") == read_launch(environment)
