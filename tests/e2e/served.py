"""Servers of this machine under the eyes of Chromium, the network off for both.

with served([...command], "http://127.0.0.1:8888/api", home, folder): ...
page = visited(browser, address)
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app import LOOPBACK, Visit

from notebooks import offline

__all__ = ["served", "visited"]

START_SECONDS = 50


@contextlib.contextmanager
def served(
    module: str, options: Sequence[str], address: str, home: Path, **given: str
) -> Iterator[str]:
    """`python -m MODULE OPTIONS`, once `address` answers; the process group is ended after.

    It runs in the folder of the workspace `home`, with the network off; `given` are variables.
    """
    log = home.parent / f"{module}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *options],
            env=offline(home, **given),
            cwd=home.parent,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _await(address, process, log)
            yield address
        finally:
            _end(process)


def visited(browser: Any, address: str, mode: str = "light", width: int = 1440) -> Visit:
    """A page in a window of its own, whatever is not this machine's refused and noted."""
    context = browser.new_context(color_scheme=mode, viewport={"width": width, "height": 900})
    page = context.new_page()
    seen = Visit(page, [], [])

    def judge(route: Any) -> None:
        if urlsplit(route.request.url).hostname in LOOPBACK:
            route.continue_()
        else:
            seen.outside.append(route.request.url)
            route.abort()

    context.route("http*://**", judge)
    page.on("pageerror", lambda error: seen.said.append(str(error)))
    page.on(
        "dialog", lambda dialog: (seen.said.append(f"dialog {dialog.message}"), dialog.dismiss())
    )
    page.goto(address, wait_until="domcontentloaded")
    return seen


def _await(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return
        time.sleep(0.1)
    raise AssertionError(f"{address} did not answer:\n{log.read_text(errors='replace')[-3000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server and the kernels that it started: one process group, or sessions of their own
    that the server ends when it is asked to."""
    for how, seconds in ((signal.SIGINT, 2), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
