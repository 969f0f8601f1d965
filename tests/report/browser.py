"""A real headless Chromium, spoken to over its debugging pipe: JSON messages that end in a NUL byte, nothing installed.

Descriptors 3 and 4 of the browser are the two ends. Every message has a number, and its answer carries it.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: The harness deadline of one answer, in seconds: a browser that hangs fails the test.
PATIENCE = 60


def installed() -> str | None:
    """The browser's path, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._number, self._rest, self._session = 0, b"", ""
        #: What the page complained about: console errors, exceptions, refused or failed loads.
        self.complaints: list[str] = []
        self._loaded = False
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and give its result; raises AssertionError for an error or for silence."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._receive], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            chunk = os.read(self._receive, 1 << 16)
            assert chunk, "the browser has ended"
            self._rest += chunk
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.loadingFailed":
            self.complaints.append(params["errorText"])

    def open(self, url: str) -> None:
        """Go there, from an empty page, and wait until it is loaded."""
        for place in ("about:blank", url):
            self._loaded = False
            self.ask("Page.navigate", url=place)
            while not self._loaded:
                self._next()

    def size(self, width: int, height: int, scale: float = 1) -> None:
        """A screen of this size, in CSS pixels; a narrow one is a phone."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )

    def dark(self, dark: bool) -> None:
        """Ask for a dark or a light page."""
        wanted = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        self.ask("Emulation.setEmulatedMedia", features=[{"name": n, "value": v} for n, v in wanted.items()])

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page (the debugger's, which no policy of the page forbids)."""
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")


@contextmanager
def browser(path: str) -> Iterator[Page]:
    """A browser with one tab, ended and swept away afterwards."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    profile = tempfile.mkdtemp(prefix="onceproof-browser-")
    words = [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    words += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
    # The shell moves the two ends to the numbers that the browser looks at.
    script = f'exec "$@" 3<&{to_read} 4>&{from_write}'
    process = subprocess.Popen(
        ["bash", "-c", script, "browser", *words],
        pass_fds=(to_read, from_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Page(to_write, from_read)
    finally:
        os.close(to_write)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(from_read)
        shutil.rmtree(Path(profile), ignore_errors=True)
