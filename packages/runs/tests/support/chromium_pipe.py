"""A real browser without a window, driven over a pipe, that tells what a page asks for."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_SECONDS = 60.0
_KEYS = {"Tab": 9, "Enter": 13, " ": 32}


class Page:
    """One page of the browser.

    Attributes:
        requests: the requested addresses.
        complaints: errors and warnings of the console, and exceptions.
    """

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._buffer, self._number = b"", 0
        self._events: list[str] = []
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        found = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    _session = ""

    def show(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the window, and whether the user prefers dark pages."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        self._events.clear()
        self._ask("Page.navigate", url=address)
        self.wait_for_load()

    def wait_for_load(self) -> None:
        """Wait until the requested page is loaded."""
        until = time.monotonic() + _SECONDS
        while "Page.loadEventFired" not in self._events:
            self._note(self._message(until))
        self._events.clear()

    def value(self, script: str) -> Any:
        """Evaluate JavaScript in the page, whatever its content policy says."""
        found = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self) -> bytes:
        """The whole page as it is shown, PNG."""
        found = self._ask("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def press(self, key: str, times: int = 1) -> None:
        """Press a key of the keyboard."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for _ in range(times):
            common = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
            self._ask("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
            self._ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters}
        session = {"sessionId": self._session} if self._session else {}
        os.write(self._writing, json.dumps(asked | session).encode() + b"\0")
        until = time.monotonic() + _SECONDS
        while (found := self._message(until)).get("id") != self._number:
            self._note(found)
        assert "error" not in found, found
        return dict(found["result"])

    def _message(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reading], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._reading, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, message: dict[str, Any]) -> None:
        method, said = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.complaints.append(json.dumps(said))


@contextmanager
def browsing(folder: Path) -> Iterator[Page]:
    """Start a browser whose profile lies in a folder; the test is skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        what = "no browser here to open pages with: apt-get install chromium"
        pytest.fail(what) if os.environ.get("CI") else pytest.skip(what)
    theirs, ours = os.pipe()
    reading, answers = os.pipe()
    words = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"),
    ]
    # The browser reads from descriptor 3 and writes to 4.
    shell = ["/bin/bash", "-c", f'exec "$@" 3<&{theirs} 4>&{answers}', "bash"]
    with subprocess.Popen(
        [*shell, program, *words],
        pass_fds=(theirs, answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        os.close(answers)
        try:
            yield Page(reading, ours)
        finally:
            os.close(ours)
            os.close(reading)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
