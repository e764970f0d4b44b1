"""With this folder on PYTHONPATH a process, and what it starts, reaches no machine but its own.

Python imports `sitecustomize` at its start. Whoever asks for another machine gets an OSError, as
with the cable pulled, and the asking is noted in the file `$REFUSED`, where that is set. Where
`$FIRST_PICTURE` is, that file gets the processor's seconds until the first figure was finished.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

HERE = ("", "localhost", "127.0.0.1", "::1", "0.0.0.0")
asked_name, connected = socket.getaddrinfo, socket.socket.connect


def refuse(host: object) -> None:
    """Raise OSError unless a name or address is this machine's."""
    if isinstance(host, bytes):
        host = host.decode()
    if host is None or host in HERE:
        return
    if note := os.environ.get("REFUSED"):
        with Path(note).open("a", encoding="utf-8") as stream:
            stream.write(f"{host}\n")
    raise OSError(f"the network is off, and {host} was asked for")


def getaddrinfo(host: Any, *given: Any, **named: Any) -> Any:
    refuse(host)
    return asked_name(host, *given, **named)


def connect(self: socket.socket, address: Any) -> None:
    if isinstance(address, tuple):  # the others are paths of this machine's
        refuse(address[0])
    connected(self, address)


def watch(note: Path) -> None:
    """Note when the first figure of ours is finished: all of them get their caption last."""
    from workbench import theme

    finish = theme.captioned

    def captioned(*given: Any) -> Any:
        figure = finish(*given)
        if not note.exists():
            note.write_text(f"{time.process_time():.3f}", encoding="utf-8")
        return figure

    theme.captioned = captioned


socket.getaddrinfo = getaddrinfo
socket.socket.connect = connect  # type: ignore[method-assign]
if watched := os.environ.get("FIRST_PICTURE"):
    watch(Path(watched))
