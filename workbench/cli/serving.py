"""Serving pages to this machine until the person stops it: ports, the address, a clean end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from workbench.cli.output import Output
from workbench.errors import UsageError, WorkbenchError

__all__ = ["LOOPBACK", "Server", "free_port", "serve"]

LOOPBACK = "127.0.0.1"
# Nobody is told that something runs here, whatever a person's own settings say.
SILENT = {
    "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
    "MARIMO_SKIP_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
START_SECONDS, STOP_SECONDS = 60.0, 5.0
TRIES = 100  # ports that are looked at, from the usual one on


class Server(NamedTuple):
    """What is to be served: arguments of Python's, the address where it will answer (`open_at`
    is what is opened there), and what it reads from its standard input."""

    arguments: list[str]
    address: str
    port: int
    open_at: str = ""
    secret: str = ""

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}{self.open_at}"


def free_port(address: str, wanted: int | None, usual: int) -> int:
    """The port that was asked for, else the first free one from the usual one on.

    Raises UsageError where it is no port, is taken, or may not be used, and where the address is
    none of this machine's.
    """
    if wanted is not None and not 1 <= wanted <= 65_535:
        raise UsageError(f"--port takes 1 to 65535, not {wanted}")
    for port in range(usual, usual + TRIES) if wanted is None else (wanted,):
        problem = _problem(address, port)
        if problem is None:
            return port
        if isinstance(problem, PermissionError):
            raise UsageError(f"port {port} may only be used by an administrator; name another")
        if problem.errno is None or isinstance(problem, socket.gaierror) or _foreign(problem):
            raise UsageError(f"{address!r} is no address of this machine's ({problem})")
    if wanted is not None:
        raise UsageError(
            f"port {wanted} is taken; name another, or leave --port out for a free one"
        )
    raise UsageError(f"ports {usual} to {usual + TRIES - 1} are all taken; name one with --port")


def serve(out: Output, server: Server) -> None:
    """Serve until the person stops it, which is its ordinary end: exit code 0.

    The address goes to stdout once the server answers (with `--json`, as the one document), what
    the server itself says to stderr. Raises WorkbenchError where it fails.
    """
    ending = signal.signal(signal.SIGTERM, _interrupt)
    child = _started(out, server)
    try:
        _await(child, server)
        told = {"address": server.url, "workspace": str(out.workspace.root), "process": child.pid}
        out.data(told, _told)
        out.stdout.flush()
        code = child.wait()
    except (KeyboardInterrupt, BrokenPipeError):
        code = 0
    finally:
        _end(child)
        signal.signal(signal.SIGTERM, ending)
    if code:
        raise WorkbenchError(f"the server ended by itself (exit code {code}); it said why above")


def _started(out: Output, server: Server) -> subprocess.Popen[bytes]:
    """The server as a process group of its own: Ctrl-C reaches us, and we end it once.

    The workspace reaches its pages; its stdout is our stderr, for ours holds data only.
    """
    setting = {**os.environ, **SILENT, "WORKBENCH_HOME": str(out.workspace.root.resolve())}
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, *server.arguments],
        env=setting,
        stdin=subprocess.PIPE,
        stdout=2,
        start_new_session=True,
    )
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(server.secret.encode())
        child.stdin.close()
    return child


def _await(child: subprocess.Popen[bytes], server: Server) -> None:
    """Until somebody listens at the port, or the server has ended."""
    end = time.monotonic() + START_SECONDS
    while child.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(_near(server), timeout=1):
            return
        time.sleep(0.1)
    if child.poll() is None:
        raise WorkbenchError(f"the server did not answer within {START_SECONDS:g} s")


def _near(server: Server) -> tuple[str, int]:
    """Where this machine itself reaches the server."""
    everywhere = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104
    return everywhere.get(server.address, server.address), server.port


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the server and what it started; who is impatient, presses Ctrl-C again."""
    for how in (signal.SIGINT, signal.SIGTERM):
        if child.poll() is not None:
            return
        _tell(child, how)
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            child.wait(STOP_SECONDS)
    if child.poll() is None:
        _tell(child, None)
        child.wait()


def _tell(child: subprocess.Popen[bytes], how: signal.Signals | None) -> None:
    """Send a signal (None: the last one) to the whole group, where there are groups."""
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL if how is None else how)
        elif how is None:
            child.kill()
        else:
            child.terminate()


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _problem(address: str, port: int) -> OSError | None:
    """Why nobody can listen there; None where one can."""
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)
        with socket.socket(found[0][0], socket.SOCK_STREAM) as one:
            if os.name == "posix":  # elsewhere it would share a port that is in use
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(found[0][4])
    except OSError as error:
        return error
    return None


def _foreign(problem: OSError) -> bool:
    import errno

    return problem.errno == errno.EADDRNOTAVAIL


def _told(told: dict[str, Any]) -> Iterator[Any]:
    yield f"Open {told['address']} in a browser (Ctrl-C ends it)."
