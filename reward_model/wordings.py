"""Values of a comparison as people write them in spreadsheets, read into the schema's.

Each function takes one cell and returns the value, or raises DataError saying what it may be.
Wordings are matched as a whole: "not much better: A" is nothing that is known, rather than A.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any, Literal

from reward_model.schema import JUDGMENTS, Judgment, Order, Side
from workbench.errors import DataError, UsageError

__all__ = [
    "judgment_reader",
    "read_flag",
    "read_memories",
    "read_order",
    "read_side",
    "read_time",
    "shortened",
    "written",
]

NOTHING = frozenset(("", "na", "n/a", "nan", "null", "none", "-"))
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
TIES = frozenset(
    (
        *("same", "about the same", "the same", "tie", "tied", "equal", "equally good"),
        *("about equal", "no preference", "no difference", "neither is better", "draw"),
    )
)
SYMBOLS: dict[str, Judgment] = {
    "A>>B": "A much better",
    "A>B": "A slightly better",
    "A=B": "same",
    "A<B": "B slightly better",
    "A<<B": "B much better",
    "B>>A": "B much better",
    "B>A": "B slightly better",
    "B=A": "same",
    "B<A": "A slightly better",
    "B<<A": "A much better",
}
WHICH = r"(?P<side>a|b|(?:with )?memory|(?:no|without) memory)"
OTHER = r"(?: than (?P<other>a|b|(?:with )?memory|(?:no|without) memory))?"
HOW = (
    r"(?P<how>much|far|strongly|clearly|significantly"
    r"|slightly|a little|a bit|somewhat|marginally)"
)
PREFERENCES = (
    re.compile(rf"{WHICH} {HOW} (?P<what>better|worse|preferred){OTHER}"),
    re.compile(rf"{HOW} (?P<what>better|worse|prefer|preferred) {WHICH}"),
    re.compile(rf"(?P<what>prefer|preferred) {WHICH} {HOW}"),
)
MUCH = frozenset(("much", "far", "strongly", "clearly", "significantly"))
FILLERS = re.compile(r"\b(?:response|answer|option|is|the|i|one|version)\b")
FIRST = re.compile(r"(?P<no>no |without )?(?:with )?memory (?P<place>first|second|last)")
SIDE_IS = re.compile(r"(?P<side>[ab])(?: (?P<no>no |without )?(?:with )?memory)?")
IS_SIDE = re.compile(r"(?P<no>no |without )?(?:with )?memory (?:as |on |in )?(?P<side>[ab])")


def judgment_reader(
    cells: Iterable[Any], given: Mapping[str, str] | None = None
) -> Callable[[Any, Order], Judgment | None]:
    """A function that reads one cell of a judgment column, given how that row was displayed.

    Words: "A much better", "much better: A", "B is slightly better than A", "A>>B", "tie", or in
    terms of memory, "memory much better". Numbers: 1..5 or -2..2, both from A much better to B
    much better, told apart by all `cells` of the column; where they could be another scale (no 5,
    or no negative number with a 2), they are refused. `given` maps what is written to one of
    `JUDGMENTS`, and goes before all of this. A blank cell is None: not judged.
    """
    meant = {_key(cell): value for cell, value in (given or {}).items()}
    unknown = [value for value in meant.values() if value not in JUDGMENTS]
    if unknown:
        raise UsageError(f"judgments: {unknown[0]!r} is none of {', '.join(JUDGMENTS)}")
    numbers = {written(cell) for cell in cells if NUMBER.fullmatch(written(cell))}
    offset, wrong = _scale({float(one) for one in numbers if one not in meant})

    def read(cell: Any, order: Order) -> Judgment | None:
        text = written(cell)
        if _key(text) in meant:
            return meant[_key(text)]  # type: ignore[return-value]
        if text.casefold() in NOTHING:
            return None
        if NUMBER.fullmatch(text):
            if offset is None:
                raise DataError(wrong)
            return JUDGMENTS[int(float(text)) + offset]
        symbol = SYMBOLS.get(re.sub(r"\s", "", text).upper())
        return symbol or _in_words(text, order)

    return read


def read_order(cell: Any) -> Order:
    """Which response was shown as A: "memory first", "A = memory", "no memory first", or the side
    of the memory response, A or B."""
    text = _plain(written(cell))
    for pattern in (FIRST, SIDE_IS, IS_SIDE):
        match = pattern.fullmatch(text)
        if match is not None:
            found = match.groupdict()
            first = found.get("place") == "first" or found.get("side") == "a"
            return "memory first" if first != bool(found["no"]) else "memory second"
    raise DataError(
        f"{shortened(cell)} does not say which response was shown as A: "
        "write memory first or memory second"
    )


def read_side(cell: Any) -> Side | None:
    """The side that an attentive reader must choose; None for an ordinary item."""
    text = written(cell).casefold()
    if text in NOTHING or text in ("false", "no", "0"):
        return None
    if text in ("a", "b"):
        return "A" if text == "a" else "B"
    raise DataError(f"{shortened(cell)} is no side: write A or B, the side that must be chosen")


def read_time(cell: Any) -> datetime | None:
    """An ISO 8601 time as it stands, no zone added; None where there is none."""
    if isinstance(cell, datetime):
        return cell
    text = cell.isoformat() if isinstance(cell, date) else written(cell)
    if text.casefold() in NOTHING:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or re.fullmatch(r"[\dW-]+", text):
        raise DataError(f"{shortened(cell)} is no ISO 8601 time, such as 2026-05-08T13:56:07")
    return time


def read_flag(cell: Any) -> bool:
    """true or false, yes or no, 1 or 0; blank is false."""
    text = written(cell).casefold()
    if text in NOTHING or text in ("false", "no", "0"):
        return False
    if text in ("true", "yes", "1"):
        return True
    raise DataError(f"{shortened(cell)} is neither true nor false")


def read_memories(cell: Any) -> tuple[str, ...]:
    """A list of texts, or one cell of them: a JSON or Python list, or one memory a line.

    Blank ones are left out; so is a dash, asterisk or bullet before a line.
    """
    if cell is None:
        return ()
    if isinstance(cell, str):
        text = cell.strip()
        if re.match(r"\[\s*[\"'\]]", text):  # "[Inferred] likes tea" is a line
            cell = _list(text)
        else:
            lines = (re.sub(r"^\s*[-*•]\s+", "", line).strip() for line in text.splitlines())
            return tuple(filter(None, lines))
    if not isinstance(cell, list | tuple) or not all(isinstance(one, str) for one in cell):
        raise DataError(f"{shortened(cell)} is no list of texts")
    return tuple(one for one in cell if one.strip())


def written(cell: Any) -> str:
    """A cell's text without spaces around it; whole numbers as such, whatever type holds them."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    text = str(cell).strip().replace("\u2212", "-")
    return re.sub(r"^\+?(-?\d+)(?:\.0+)?$", r"\1", text)


def shortened(cell: Any, length: int = 60) -> str:
    """A cell quoted in a message, cut where it is long."""
    quoted = repr(cell)
    return quoted if len(quoted) <= length else f"{quoted[: length - 1]}…"


def _key(cell: Any) -> str:
    return re.sub(r"\s+", " ", written(cell).casefold())


def _plain(text: str) -> str:
    """Lower case, marks and underscores as spaces, one space between words."""
    spaced = re.sub(r"[\s_.:;,()=>\u2013\u2014-]+", " ", text.casefold())
    return re.sub(r" +", " ", FILLERS.sub("", spaced)).strip() or text.casefold().strip()


def _scale(numbers: set[float]) -> tuple[int | None, str]:
    """What to add to a number to get its place in JUDGMENTS; else why nothing can be."""
    if numbers <= {1, 2, 3, 4, 5} and 5 in numbers:
        return -1, ""
    if numbers <= {-2, -1, 0, 1, 2} and min(numbers, default=0) < 0 and numbers & {-2, 2}:
        return 2, ""
    found = ", ".join(f"{one:g}" for one in sorted(numbers)[:8])
    return None, (
        f"the numbers of this column ({found}) cannot be told to be the scale 1..5 or -2..2, from "
        f"A much better to B much better: say what each means, such as judgments={{'1': '"
        f"{JUDGMENTS[0]}'}}"
    )


def _in_words(text: str, order: Order) -> Judgment:
    plain = re.sub(r"^[1-5] ", "", _plain(text))  # "1 - A much better"
    if plain in TIES or text.casefold() in TIES:
        return "same"
    for pattern in PREFERENCES:
        match = pattern.fullmatch(plain)
        if match is None:
            continue
        side = _side(match["side"], order)
        other = match.groupdict().get("other")
        if other is not None and _side(other, order) == side:
            break
        if match["what"] == "worse":
            side = "B" if side == "A" else "A"
        strength: Literal["much", "slightly"] = "much" if match["how"] in MUCH else "slightly"
        return f"{side} {strength} better"  # type: ignore[return-value]
    raise DataError(
        f"{shortened(text)} does not say which response is better and how clearly: write one of "
        f"{', '.join(JUDGMENTS)}, or say what it means with judgments={{...}}"
    )


def _side(words: str, order: Order) -> Side:
    if words in ("a", "b"):
        return "A" if words == "a" else "B"
    with_memory = not words.startswith(("no", "without"))
    return "A" if with_memory == (order == "memory first") else "B"


def _list(text: str) -> Any:
    """A JSON list, or a Python one as frames write them into CSV; literals only, nothing runs."""
    for decode in (json.loads, ast.literal_eval):
        try:
            return decode(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise DataError(f"{shortened(text)} begins as a list, but is no JSON list of texts")
