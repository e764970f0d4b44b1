"""Dialogue in pieces that a model reads at once: a few turns of one session, numbered from 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from workbench.constructed.asking import Unit, numbered, request
from workbench.embed import is_blank
from workbench.memory.episodic import turn_text
from workbench.schema import Dialogue, Turn

__all__ = ["Piece", "pieces_of", "unit_of"]

# Few turns, because a small model loses the thread of a long list; a long turn stands alone.
MOST_TURNS = 6
MOST_CHARACTERS = 2400
REPLY_TOKENS = 448


class Piece(NamedTuple):
    """Some turns of one session in reading order; `places` are their positions in it, from 0."""

    scope: str
    session: str
    number: int
    turns: tuple[Turn, ...]
    places: tuple[int, ...]
    people: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.scope}/{self.session}/{self.number}"


def pieces_of(dialogue: Dialogue, left_out: Counter[str]) -> Iterator[Piece]:
    """The pieces of a dialogue's sessions; blank turns and those of tools are left out, counted.

    A piece holds at most 6 turns and 2,400 characters, or one longer turn. Sessions added later
    change no piece of the earlier ones, nor do turns added to a session its whole pieces.
    """
    for session in dialogue.sessions:
        turns = [turn for turn in dialogue.turns if turn.session == session]
        readable: list[tuple[int, Turn]] = []
        for place, turn in enumerate(turns):
            reason = _unreadable(turn)
            if reason is None:
                readable.append((place, turn))
            else:
                left_out[reason] += 1
        for number, part in enumerate(_parts(readable), start=1):
            places, said = zip(*part, strict=True)
            yield Piece(dialogue.scope, session, number, said, places, dialogue.people)


def unit_of(piece: Piece) -> Unit:
    """What is asked about a piece: its day, where one is known, and its numbered turns."""
    time = piece.turns[0].time
    day = [("day", f"{time.day} {time:%B %Y}")] if time else []
    turns = numbered([_line(turn) for turn in piece.turns])
    return Unit(piece.name, request("memories", [*day, ("turns", turns)], REPLY_TOKENS))


def _parts(turns: Iterable[tuple[int, Turn]]) -> Iterator[list[tuple[int, Turn]]]:
    held: list[tuple[int, Turn]] = []
    size = 0
    for place, turn in turns:
        length = len(turn_text(turn))
        if held and (len(held) == MOST_TURNS or size + length > MOST_CHARACTERS):
            yield held
            held, size = [], 0
        held.append((place, turn))
        size += length
    if held:
        yield held


def _line(turn: Turn) -> str:
    """A turn as the model reads it. An assistant is called so whatever its name is, because the
    rule on what it says needs to know it."""
    text = turn_text(turn)
    return f"{text} (an assistant speaks)" if turn.role == "assistant" else text


def _unreadable(turn: Turn) -> str | None:
    if turn.role == "tool":
        return "tool turn"
    said = (turn.text, turn.caption or "", turn.attachment or "")
    return "blank turn" if all(is_blank(text) for text in said) else None
