"""The explorer as its users meet it: served on a free port, in Chromium with all other network off.

    from app import explorer, fixtures ...       # what tests of the app share

`workbench explore` serves a workspace; `opened` visits one of its pages; `settled` waits until
the script has run and everything is drawn.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from shell import environment
from workbench.doctor import find_browser

__all__ = ["Visit", "browser", "chromium", "explorer", "free_port", "opened", "settled", "warmed"]

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}
START_SECONDS, READY_SECONDS = 40, 60
LOOKS = 8  # in a row, 50 ms apart, at a page that stays the same
READY = "[data-testid=stApp][data-test-script-state=notRunning]"


class Visit(NamedTuple):
    """A page under the eyes of Chromium; `outside` are the addresses beyond this machine that it
    asked for (and did not get), `said` its errors."""

    page: Any
    outside: list[str]
    said: list[str]


def free_port() -> int:
    """A port of this machine that nobody listens to."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def explorer(workspace: Path, *options: str, **given: str) -> Iterator[str]:
    """`workbench explore OPTIONS` over a workspace, from a foreign directory: its address."""
    workspace.parent.mkdir(parents=True, exist_ok=True)
    port = free_port()
    log = workspace.parent / f"explorer-{port}.log"
    command = [sys.executable, "-m", "workbench", "explore", "--headless", "--port", str(port)]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, *options],
            env=environment(**{"WORKBENCH_HOME": str(workspace), **given}),
            cwd=workspace.parent,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _await(f"http://127.0.0.1:{port}/_stcore/health", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            _stop(process)


def _await(health: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(health, timeout=2) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"the explorer did not start:\n{log.read_text(errors='replace')[-3000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the command and the server it started: they are a process group of their own."""
    import os
    import signal

    for how in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium; skips by name where Playwright or Chromium is absent."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs pip install playwright")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), find_browser())
    if path is None:
        pytest.skip("needs Chromium: install it with your system's package manager")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """`from app import browser` makes this fixture the importing module's."""
    with chromium() as started:
        yield started


def opened(
    browser: Any,
    address: str,
    page: str = "retrieval",
    mode: str = "light",
    width: int = 1440,
    **view: object,
) -> Visit:
    """A page of the explorer in a window of its own, with a view's fields in the address, once it
    has settled. Whatever is not this machine's is refused."""
    context = browser.new_context(
        color_scheme=mode, viewport={"width": width, "height": 900}, accept_downloads=True
    )
    made = context.new_page()
    seen = Visit(made, [], [])

    def judge(route: Any) -> None:
        if urlsplit(route.request.url).hostname in LOOPBACK:
            route.continue_()
        else:
            seen.outside.append(route.request.url)
            route.abort()

    context.route("http*://**", judge)
    made.on("pageerror", lambda error: seen.said.append(str(error)))
    made.on(
        "dialog", lambda dialog: (seen.said.append(f"dialog {dialog.message}"), dialog.dismiss())
    )
    query = f"?{urlencode(view)}" if view else ""
    path = "" if page == "retrieval" else page
    made.goto(f"{address}/{path}{query}")
    settled(made)
    return seen


def settled(page: Any, seconds: float = READY_SECONDS) -> None:
    """Wait until the script has run, nothing shown is outdated, every figure is drawn, and the
    page says the same for a while: a rerun may follow a rerun."""
    page.wait_for_function(
        """([ready, looks]) => {
            const text = document.body.innerText;
            const done = document.querySelector(ready)
                && document.querySelector('[data-testid=stMain] h1')
                && !document.querySelector('[data-stale=true], [data-testid=stSkeleton]')
                && [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
                    .every(one => one.querySelector('.main-svg'));
            if (!done || window.settledText !== text) {
                window.settledText = text;
                window.settledLooks = 0;
                return false;
            }
            window.settledLooks += 1;
            return window.settledLooks >= looks;
        }""",
        arg=[READY, LOOKS],
        timeout=seconds * 1000,
        polling=50,
    )


def warmed(folder: Path, *datasets: str) -> Path:
    """A workspace in which the sample's banks (and no others) are built: the first visit is
    then as fast as any."""
    from workbench.library import open_banks
    from workbench.workspace import Workspace

    workspace = Workspace(folder)
    for name in datasets or ("sample",):
        open_banks(workspace, name)
    return folder
