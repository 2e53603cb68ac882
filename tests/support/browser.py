"""A headless Chromium, driven over a pipe by its DevTools protocol. It resolves no host names."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import time
from base64 import b64decode
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--no-first-run", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.03
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample} ${event.sourceFile}`);
});
"""
_KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    return shutil.which("chromium")


class Browser:
    """One process of Chromium; a context manager that ends it.

    Args:
        program: The path of Chromium.
        profile: A folder for its profile.
    """

    def __init__(self, program: str, profile: Path) -> None:
        self._arguments = [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._ids = count(1)
        self._rest = b""
        self._pages: dict[str, Page] = {}
        self._attached: list[tuple[Page, str]] = []

    def __enter__(self) -> Self:
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        inside, outside = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out))
        nowhere = os.open(os.devnull, os.O_RDWR)
        places = [(nowhere, 0), (nowhere, 1), (nowhere, 2), (inside, 3), (outside, 4)]
        self._process = os.posix_spawn(
            self._arguments[0],
            self._arguments,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, *place) for place in places],
            setpgroup=0,
        )
        for fd in (theirs_in, theirs_out, inside, outside, nowhere):
            os.close(fd)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._to)
        os.close(self._from)

    def page(self, *, width: int = 1280, height: int = 860, dark: bool = False) -> Page:
        """Open a page with an empty session of its own."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._watched(session)
        page.resize(width, height, dark=dark)
        return page

    def _watched(self, session: str) -> Page:
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        # Workers wait, too, though only frames are watched: these have no page.
        others = [{"type": "iframe"}, {"type": "worker"}]
        page.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True, filter=others)
        return page

    def send(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """Send a command and return its result."""
        number = self._write(method, session, parameters)
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            message = self._read(until)
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                self._take_frames()
                return message["result"]
            if (page := self._pages.get(message.get("sessionId", ""))) is not None:
                if message["method"] == "Target.attachedToTarget":
                    self._take(page, message["params"])
                page.note(message["method"], message["params"])

    def _write(self, method: str, session: str | None, parameters: dict[str, Any]) -> int:
        number = next(self._ids)
        command = {"id": number, "method": method, "params": parameters}
        if session is not None:
            command["sessionId"] = session
        os.write(self._to, json.dumps(command).encode() + b"\0")
        return number

    def _take(self, page: Page, target: dict[str, Any]) -> None:
        if target["targetInfo"]["type"] == "iframe":
            self._attached.append((page, target["sessionId"]))
        else:  # no answer is waited for: a worker may be gone already
            self._write("Runtime.runIfWaitingForDebugger", target["sessionId"], {})

    def _take_frames(self) -> None:
        """Watch the frames with a process of their own, which wait for that."""
        while self._attached:
            page, session = self._attached.pop()
            page.frames.append(self._watched(session))
            page.frames[-1].send("Runtime.runIfWaitingForDebugger")

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(until - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            received = os.read(self._from, 1 << 20)
            assert received, "the browser ended"
            self._rest += received
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


class Page:
    """One page of the browser.

    Attributes:
        complaints: What the browser reported: errors of scripts, refused loads, dialogs.
        requests: The addresses that the page asked for.
        frames: The frames in it that have a process of their own, as pages.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.frames: list[Page] = []

    def send(self, method: str, **parameters: Any) -> Any:
        """Send a command about this page."""
        return self._browser.send(method, self._session, **parameters)

    def note(self, method: str, event: dict[str, Any]) -> None:
        """Keep what an event of the browser tells."""
        if method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.complaints.append(str(details.get("exception", {}).get("description", details["text"])))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            entry = event["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"a dialog: {event['message']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """Give the page a size and a colour scheme."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def go(self, address: str) -> None:
        """Open an address."""
        self.send("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """Run an expression and return its value; a promise is awaited."""
        done = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.run(f"(() => {{ try {{ return Boolean({condition}) }} catch {{ return false }} }})()"):
            assert time.monotonic() < until, f"never: {condition}\n{self.text()[:2_000]}\n{self.complaints}"
            time.sleep(_PAUSE_SECONDS)

    def text(self) -> str:
        """Return the text that is shown."""
        return str(self.run("document.body.innerText"))

    def wait_for_text(self, *texts: str) -> None:
        """Wait until all of some texts are shown."""
        for text in texts:
            self.wait_for(f"document.body.innerText.includes({json.dumps(text)})")

    def click(self, selector: str, text: str = "") -> None:
        """Click the first element of a selector that has a text."""
        has_text = f"(one) => one.textContent.includes({json.dumps(text)})"
        found = f"[...document.querySelectorAll({json.dumps(selector)})].find({has_text})"
        self.wait_for(f"{found} !== undefined")
        self.run(f"{found}.click()")

    def fill(self, selector: str, value: str) -> None:
        """Type a value into a field."""
        self.wait_for(f"document.querySelector({json.dumps(selector)})")
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.send("Input.insertText", text=value)

    def choose(self, selector: str, option: str | int) -> None:
        """Choose an option of a field by its value or its number."""
        chosen = f"{'value' if isinstance(option, str) else 'selectedIndex'} = {json.dumps(option)}"
        field = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{field}.{chosen}; {field}.dispatchEvent(new Event('change'))")

    def press(self, key: str) -> None:
        """Press a key."""
        code = _KEYS.get(key, ord(key[0].upper()))
        about = {"key": key, "windowsVirtualKeyCode": code}
        typed = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **about, **typed)
        self.send("Input.dispatchKeyEvent", type="keyUp", **about)

    def drop_files(self, selector: str, files: Sequence[Path]) -> None:
        """Choose files in a file field."""
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.send("DOM.setFileInputFiles", nodeId=node, files=[str(file) for file in files])

    def violations(self) -> list[str]:
        """Return what the page's policy refused since it was opened."""
        found: list[str] = self.run("window.violations")
        return found

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a picture of the page."""
        taken = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(b64decode(taken["data"]))
