"""A real server on loopback that speaks the OpenAI API, and misbehaves as it is told to.

It gives its `turns` in order, the last one again and again. A turn is an answer (a string), a
function of the request's JSON, or a `Bad` one.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Bad(NamedTuple):
    """A way to misbehave. `body` is sent as it is; `cut` says how many bytes fewer come than were
    announced; `wait` seconds pass before anything comes, `drip` seconds between the bytes."""

    status: int = 200
    body: str = "{}"
    headers: tuple[tuple[str, str], ...] = ()
    cut: int = 0
    wait: float = 0.0
    drip: float = 0.0


Turn = str | Bad | Callable[[dict[str, Any]], "str | Bad"]


def completion(content: Any, finish: str = "stop", **message: Any) -> str:
    """The body of a reply; 7 tokens in and 3 out."""
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": content, **message},
    }
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps({**body, "choices": [choice], "usage": usage})


def failure(message: str, code: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "code": code, "type": "error"}})


class Server:
    """What was asked: the JSON of every request, its headers, its path, and when it came."""

    def __init__(self, turns: list[Turn]) -> None:
        self.turns = turns
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.times: list[float] = []
        self.busy = self.most_busy = 0
        self.turn = threading.Lock()
        self.url = ""

    @property
    def hits(self) -> int:
        return len(self.asked)

    def answer(self, asked: dict[str, Any], headers: dict[str, str], path: str) -> Bad:
        with self.turn:
            turn = self.turns[min(len(self.asked), len(self.turns) - 1)]
            self.asked.append(asked)
            self.headers.append(headers)
            self.paths.append(path)
            self.times.append(time.monotonic())
        given = turn(asked) if callable(turn) else turn
        return given if isinstance(given, Bad) else Bad(body=completion(given))


@contextlib.contextmanager
def serving(*turns: Turn) -> Iterator[Server]:
    server = Server(list(turns))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            names = {name.lower(): value for name, value in self.headers.items()}
            with server.turn:
                server.busy += 1
                server.most_busy = max(server.most_busy, server.busy)
            try:
                with contextlib.suppress(OSError):  # whoever asked may have gone
                    self.give(server.answer(asked, names, self.path))
            finally:
                with server.turn:
                    server.busy -= 1

        def give(self, bad: Bad) -> None:
            time.sleep(bad.wait)
            body = bad.body.encode()
            self.send_response(bad.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for name, value in bad.headers:
                self.send_header(name, value)
            self.end_headers()
            body = body[: len(body) - bad.cut]
            for piece in [body[i : i + 1] for i in range(len(body))] if bad.drip else [body]:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(bad.drip)
            if bad.cut:
                self.close_connection = True

        def log_message(self, *given: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
