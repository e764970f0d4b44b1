"""Episodic memories that a model reads out of a piece of dialogue, held against that dialogue.

A model's word on provenance is checked: numbers of no turn are dropped, and so is a statement whose
owner did not speak in any turn it names. What is dropped is counted by reason.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from workbench.constructed.asking import Asker, examples_of
from workbench.constructed.forms import Extracted, Statement
from workbench.constructed.pieces import Piece, unit_of
from workbench.embed import is_blank
from workbench.memory.sentences import sentences_of
from workbench.memory.words import word_list
from workbench.schema import Memory, Turn

__all__ = ["extract", "memories_of", "names"]

WORD = re.compile(r"\w[\w'-]*")
STEM = 4  # letters that "moved", "moving" and "moves" share


def extract(asker: Asker, pieces: Sequence[Piece], left_out: Counter[str]) -> list[Memory]:
    """The memories of all pieces, in their order; a piece whose reply failed is pending."""
    replies = asker.ask("extracting", [unit_of(piece) for piece in pieces], Extracted)
    found: list[Memory] = []
    for piece, reply in zip(pieces, replies, strict=True):
        if reply is not None:
            found += memories_of(piece, reply, left_out)
    return found


def memories_of(piece: Piece, reply: Extracted, left_out: Counter[str]) -> list[Memory]:
    """What of a reply is a memory of the piece: its sources are turns of the piece, its owner is
    the speaker of one of them, its time that of the owner's first."""
    kept: dict[str, Memory] = {}
    for said in reply.memories:
        rows = [n - 1 for n in dict.fromkeys(said.turns) if 1 <= n <= len(piece.turns)]
        left_out["invented turn number"] += len(set(said.turns)) - len(rows)
        turns = [piece.turns[row] for row in sorted(rows)]
        own = [turn for turn in turns if _same(turn.speaker, said.who)]
        reason = _refused(said, turns, own, piece)
        if reason is None:
            memory = _memory(piece, said, turns, own[0])
            reason = "said twice" if memory.id in kept else None
            kept.setdefault(memory.id, memory)
        if reason is not None:
            left_out[reason] += 1
    return list(kept.values())


def _refused(said: Statement, turns: list[Turn], own: list[Turn], piece: Piece) -> str | None:
    """Why a statement is no memory, or None."""
    text = said.statement.strip()
    if is_blank(text):
        return "blank statement"
    if text.lower() in examples_of("memories"):
        return "the prompt's example"
    if not own:
        return "its owner speaks in none of its turns" if turns else "no turn as its source"
    on_somebody = any(names(text, person) for person in piece.people)
    others_ask = any(_asks(turn) for turn in turns if turn not in own)
    reasons = [
        ("a question", text.endswith("?") or all(map(_asks, turns))),
        ("an assistant on its user", own[0].role == "assistant" and on_somebody),
        # "Yes!" says what the question before it said.
        ("none of it in its owner's words", not others_ask and not _says_it(text, own)),
    ]
    return next((reason for reason, holds in reasons if holds), None)


def _says_it(text: str, own: list[Turn]) -> bool:
    """Whether a word that says something stands in the owner's turns, in whatever ending: names of
    people are in every statement and say nothing."""
    wanted = _stems(text) - {stem for turn in own for stem in _stems(turn.speaker)}
    words = " ".join(" ".join((t.text, t.caption or "", t.attachment or "")) for t in own)
    return not wanted or not wanted.isdisjoint(_stems(words))


def _stems(text: str) -> set[str]:
    words = (word.removesuffix("'s") for word in WORD.findall(text.lower().replace("’", "'")))
    return {word[:STEM] for word in words if word not in word_list("function_words")}


def _asks(turn: Turn) -> bool:
    """Whether a turn is nothing but questions."""
    sentences = sentences_of(turn.text)
    return bool(sentences) and all(sentence.rstrip().endswith("?") for sentence in sentences)


def _same(speaker: str, named: str) -> bool:
    """Whether a model names a speaker, "the user" for "user" too."""
    name = named.strip().strip("\"'").casefold().removeprefix("the ")
    return name == speaker.strip().casefold()


def _memory(piece: Piece, said: Statement, turns: list[Turn], own: Turn) -> Memory:
    text = " ".join(said.statement.split())
    sources = tuple(turn.id for turn in turns)
    digest = hashlib.sha256("\0".join((text.lower(), *sources)).encode()).hexdigest()[:6]
    return Memory(
        id=f"m:{sources[0]}#{digest}",
        scope=piece.scope,
        kind="fact",
        text=text,
        sources=sources,
        owner=own.speaker,
        subject=_subject(text, piece.people),
        role=own.role,
        session=piece.session,
        place=piece.places[piece.turns.index(turns[0])],
        time=own.time,
        dimensions=said.retrieval_dimensions,
    )


def _subject(text: str, people: tuple[str, ...]) -> str:
    """The person whom a statement names first, and not as somebody's ("Ana's sister"); "" where it
    is none of the dialogue's."""
    return next((p for p in people if names(text, p) and not names(text, p, "'s")), "")


def names(text: str, person: str, ending: str = "") -> bool:
    """Whether a statement begins with a person's name, "The user" for "user" too."""
    whole = re.escape(person + ending)
    return re.match(rf"(?:the )?{whole}(?!\w)", text.replace("’", "'"), re.IGNORECASE) is not None
