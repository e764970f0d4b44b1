"""What a command may do to the outside: data on stdout, everything else on stderr, exit codes.

In `--json` mode stdout is one JSON document, also on failure, written in ASCII so that it is valid
whatever the terminal's encoding. While a command runs, anything a library prints goes to stderr.
"""

from __future__ import annotations

import contextlib
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

import msgspec

from workbench.workspace import Workspace

__all__ = ["Output", "shown", "table"]

Progress = Callable[[str, int, int], None]


@dataclass
class Output:
    """A command's way to speak, and the options that every command has."""

    as_json: bool
    workspace: Workspace
    seed: int
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    exit_code: int = 0

    def data(self, document: Any, human: Callable[[Any], Iterator[Any]]) -> None:
        """Print a result: as JSON, or as what `human` yields (strings and rich renderables)."""
        plain = msgspec.to_builtins(document)
        if self.as_json:
            write_json(plain, self.stdout)
            return
        from rich.console import Console

        console = Console(file=self.stdout, highlight=False, soft_wrap=False)
        for piece in human(plain):
            console.print(piece, markup=False)

    def say(self, message: str) -> None:
        """A remark for the person at the terminal, on stderr."""
        print(message, file=sys.stderr)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Progress]:
        """A bar with the time left on stderr: a function (what, done, total)."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            tasks: dict[str, Any] = {}

            def show(what: str, done: int, total: int) -> None:
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=total)
                bar.update(tasks[what], completed=done)

            yield show


def write_json(document: Any, stream: TextIO) -> None:
    stream.write(json.dumps(document, ensure_ascii=True, indent=1, allow_nan=False) + "\n")


def shown(text: str, width: int | None = None) -> str:
    """Dialogue text for a terminal: one line, cut at `width`, with control characters (escape
    sequences, text-direction overrides) made visible instead of obeyed."""
    safe = "".join(
        char if unicodedata.category(char) not in ("Cc", "Cf", "Cs") or char == "\u200d" else "·"
        for char in " ".join(text.split())
    )
    return safe if width is None or len(safe) <= width else safe[: width - 1] + "…"


def table(title: str, columns: list[str], rows: list[list[Any]]) -> Any:
    """A rich table of plain values: text is never read as markup, numbers stand to the right."""
    from rich.table import Table
    from rich.text import Text

    made = Table(title=title or None, title_justify="left", show_edge=False, pad_edge=False)
    for position, name in enumerate(columns):
        numeric = all(isinstance(row[position], int | float) or row[position] == "" for row in rows)
        made.add_column(name, justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(_cell(value)) for value in row))
    return made


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
