"""Drive Firefox by WebDriver BiDi, which it speaks without another program.

Playwright drives only a Firefox of its own, which Debian and PyPI do not have.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import programs
from reader import LAY_OUT

CURE = (
    "no Firefox was found and none could be installed. Install one (Debian: `apt-get install "
    "firefox-esr`), or set its path: FIREFOX=/path/to/firefox make ..."
)

# Errors of a page's scripts, from its first line on
FAULTS = """() => {
    window.faults = [];
    addEventListener("error", ({ message }) => faults.push(message));
    addEventListener("unhandledrejection", ({ reason }) => faults.push(String(reason)));
}"""


def executable() -> str:
    """Return the path of a Firefox, installing Debian's if necessary."""
    names = [os.environ.get("FIREFOX") or "firefox", "firefox-esr"]
    for _ in range(2):
        if found := next(filter(None, map(shutil.which, names)), None):
            return found
        programs.install("firefox-esr")
    raise RuntimeError(CURE)


class Firefox:
    """A tab of Firefox."""

    def __init__(self, address: str, loop: asyncio.AbstractEventLoop):
        self._loop, self._calls = loop, 0
        self._socket = self._wait(connection(address))
        self._call("session.new", capabilities={})
        self._tab = self._call("browsingContext.create", type="tab")["context"]
        self._call("script.addPreloadScript", functionDeclaration=FAULTS)

    def _wait(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def _call(self, method: str, **given: Any) -> Any:
        self._calls += 1
        return self._wait(self._answer(method, given, self._calls))

    async def _answer(self, method: str, given: dict[str, Any], number: int) -> Any:
        text = json.dumps({"id": number, "method": method, "params": given})
        await self._socket.write_message(text)
        while True:
            found = json.loads(await self._socket.read_message() or "{}")
            if found.get("id") == number:
                assert found["type"] == "success", found
                return found["result"]

    def open(self, address: str, width: int = 360, height: int = 740) -> None:
        """Open a page in a window of this size."""
        size = {"width": width, "height": height}
        self._call("browsingContext.setViewport", context=self._tab, viewport=size)
        self.run("() => { window.left = true; }")
        self._call("browsingContext.navigate", context=self._tab, url=address, wait="complete")
        while self.run("() => window.left ?? false"):  # a busy Firefox still shows the old page
            time.sleep(0.05)
        self.run(LAY_OUT)

    def press(self, key: str) -> None:
        """Press a key, named by the code point that WebDriver gives it."""
        strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        keys = {"type": "key", "id": "keyboard", "actions": strokes}
        self._call("input.performActions", context=self._tab, actions=[keys])

    def run(self, function: str, *given: Any) -> Any:
        """Return what a JavaScript function returns, as JSON has it, once it is there."""
        there = 'while (document.readyState !== "complete" || !document.documentElement) '
        there += "await new Promise((done) => setTimeout(done, 50));"
        call = f"JSON.stringify(await ({function})(...{json.dumps(given)}))"
        call = f"(async () => {{ {there} return {call}; }})()"
        target = {"context": self._tab}
        found = self._call("script.evaluate", expression=call, target=target, awaitPromise=True)
        assert found["type"] == "success", found
        return json.loads(found["result"].get("value", "null"))


@contextmanager
def opened() -> Iterator[Firefox]:
    """Run Firefox, with a profile of its own, until the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        settings = ("useOverlayScrollbars", "prefersReducedMotion")  # a phone's, and no waiting
        lines = [f'user_pref("ui.{name}", 1);' for name in settings]
        Path(profile, "user.js").write_text("\n".join(lines))
        command = [executable(), "--headless", "--no-remote", "--profile", profile]
        command += ["--remote-debugging-port=0", "about:blank"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr
        loop = asyncio.new_event_loop()  # in a thread: Playwright has one in this
        threading.Thread(target=loop.run_forever, daemon=True).start()
        try:
            told = (re.search(r"BiDi listening on (\S+)", line) for line in process.stderr)
            yield Firefox(next(found[1] for found in told if found), loop)
        finally:
            process.terminate()
            process.wait()
            loop.call_soon_threadsafe(loop.stop)


async def connection(address: str) -> WebSocketClientConnection:
    return await websocket_connect(f"{address}/session", max_message_size=2**26)
