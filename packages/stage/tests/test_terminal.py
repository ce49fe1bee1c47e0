from __future__ import annotations

import io
import sys

import pytest
from audioloom_stage.terminal import is_terminal, show_bar, write_line


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        """Fail, as a pipe without a reader does."""
        raise BrokenPipeError


@pytest.mark.parametrize("stream", [None, Gone()])
def test_without_a_reader_of_stderr_the_work_goes_on(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None
) -> None:
    """A log that nobody reads must not end a run of hours."""
    monkeypatch.setattr(sys, "stderr", stream)
    write_line("lost")
    assert not is_terminal()


def test_a_line_goes_above_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    """The bar is taken back, the line written, the bar drawn again."""
    show_bar("[==]")
    write_line("line")
    show_bar("")
    write_line("after")
    assert "\r\x1b[K[==]\r\x1b[Kline\n[==]\r\x1b[Kafter\n" == capsys.readouterr().err
