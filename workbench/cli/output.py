"""What a command may do to the outside: data on stdout, everything else on stderr, exit codes.

In `--json` mode stdout is one JSON document, also on failure, written in ASCII so that it is valid
whatever the terminal's encoding. While a command runs, anything a library prints goes to stderr.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from workbench.workspace import Workspace

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Output", "bracket", "estimate", "shown", "table", "visible", "write_json"]

# Where stderr is no terminal there is no bar, but a line now and then: it is at work.
QUIET_SECONDS = 15.0

Progress = Callable[[str, int, int], None]

# Unicode categories of characters that a terminal obeys instead of showing them.
CONTROLS = ("Cc", "Cf", "Cs")


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
        console = _console(self.stdout)
        for piece in human(plain):
            if isinstance(piece, str):  # never broken into lines: it may be copied or searched
                console.print(visible(piece), soft_wrap=True)
            else:
                console.print(piece)

    def say(self, message: str) -> None:
        """A remark for the person at the terminal, on stderr."""
        print(message, file=sys.stderr)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Progress]:
        """A bar with the time left on stderr, where that is a terminal: a function (what, done,
        total)."""
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
        console = _console(sys.stderr)
        hidden = not console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
            tasks: dict[str, Any] = {}
            told = time.monotonic()

            def show(what: str, done: int, total: int) -> None:
                nonlocal told
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=total)
                bar.update(tasks[what], completed=done)
                if hidden and time.monotonic() - told > QUIET_SECONDS:
                    told = time.monotonic()
                    self.say(f"{what}: {done} of {total}")

            yield show


def write_json(document: Any, stream: TextIO) -> None:
    stream.write(json.dumps(document, ensure_ascii=True, indent=1, allow_nan=False) + "\n")


def shown(text: str, width: int | None = None) -> str:
    """Dialogue text for a terminal: one line, cut at `width`, nothing in it obeyed."""
    safe = visible(" ".join(text.split()))
    return safe if width is None or len(safe) <= width else safe[: width - 1] + "…"


def visible(text: str) -> str:
    """Text with its control characters (escape sequences, text-direction overrides) made visible
    instead of obeyed; line ends stay."""
    return "".join(
        char if unicodedata.category(char) not in CONTROLS or char in "\n\u200d" else "·"
        for char in text
    )


def estimate(mean: float, ends: list[float | None]) -> str:
    """ "0.567 [0.480, 0.655]"; the mean alone where there is no interval."""
    if ends[0] is None or ends[1] is None:
        return f"{mean:.3f}"
    return f"{mean:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"


def bracket(ends: list[float | None]) -> str:
    """ "[0.4800, 0.6550]", with a dash for an end that is not known."""
    return "[{}]".format(", ".join("-" if one is None else f"{one:.4f}" for one in ends))


def table(title: str, columns: list[str], rows: list[list[Any]]) -> Any:
    """A rich table of plain values: text is never read as markup, numbers stand to the right."""
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=title or None,
        title_justify="left",
        show_edge=False,
        pad_edge=False,
        show_lines=any("\n" in str(v) for r in rows for v in r),
    )
    for position, name in enumerate(columns):
        numeric = all(isinstance(row[position], int | float) or row[position] == "" for row in rows)
        made.add_column(name, justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(_cell(value)) for value in row))
    return made


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else visible(str(value))


def _console(stream: TextIO) -> Console:
    """A console that reads neither markup nor emoji codes into what it prints."""
    from rich.console import Console

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    # rich would leave with exit code 1; the command line has one answer to a closed pipe.
    console.on_broken_pipe = _closed_pipe  # type: ignore[method-assign]
    return console


def _closed_pipe() -> None:
    raise BrokenPipeError
