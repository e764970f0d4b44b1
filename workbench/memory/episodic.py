"""Episodic memories: what a dialogue's turns say, as one memory a turn or as dated facts.

An extractor takes a dialogue and returns an `Extraction`; one that asks a model can take the place
of those here. Dialogue text is data: an instruction in it is a sentence like any other.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

import msgspec

from workbench.embed import is_blank
from workbench.memory import dimensions
from workbench.memory.facts import Fact, facts_of_sentence
from workbench.memory.sentences import sentences_of, without_address
from workbench.schema import Dialogue, Memory, MemoryKind, Record, Turn

__all__ = ["EXTRACTORS", "Extraction", "Extractor", "fact_memories", "observed", "turn_memories"]


class Extraction(Record, frozen=True, kw_only=True):
    """The memories of a dialogue in reading order, and how much was left out for which reason."""

    memories: tuple[Memory, ...] = ()
    left_out: dict[str, int] = msgspec.field(default_factory=dict)


class Extractor(Protocol):
    """Makes episodic memories of a dialogue."""

    def __call__(self, dialogue: Dialogue) -> Extraction: ...


def turn_memories(dialogue: Dialogue) -> Extraction:
    """One memory a turn, "Speaker: text [shares CAPTION] [attaches ATTACHMENT]".

    Tool turns, and turns of nothing but white space and zero-width characters, are left out.
    """
    left_out: Counter[str] = Counter()
    memories = []
    for turn in dialogue.turns:
        reason = _unusable(turn)
        if reason is not None:
            left_out[reason] += 1
            continue
        whole = Fact(text=turn_text(turn), subject=turn.speaker, sentence=turn.text)
        memories.append(_memory(turn, dialogue.scope, "turn", whole))
    return Extraction(memories=tuple(memories), left_out=dict(left_out))


def fact_memories(dialogue: Dialogue) -> Extraction:
    """Third-person statements that each speaker makes about their own life, by rule.

    Only persons and users state facts: what an assistant says of its user is a guess, and what it
    says of the world is not a memory. Turns are counted in `left_out` where no sentence of theirs
    is read, sentences where they give no fact.
    """
    left_out: Counter[str] = Counter()
    memories: dict[str, Memory] = {}
    for turn in dialogue.turns:
        reason = _unusable(turn) or ("assistant turn" if turn.role == "assistant" else None)
        if reason is not None:
            left_out[reason] += 1
            continue
        for fact in _facts_of_turn(turn, dialogue.people, left_out):
            made = _memory(turn, dialogue.scope, "fact", fact)
            memories.setdefault(made.id, made)
    return Extraction(memories=tuple(memories.values()), left_out=dict(left_out))


def observed(dialogue: Dialogue, observations: Iterable[Memory]) -> Extraction:
    """The observations that come with a source and rest on turns of this dialogue.

    They keep their text; dimensions are given by rule. Those on turns of no such dialogue are left
    out, and so are blank ones.
    """
    left_out: Counter[str] = Counter()
    known = {turn.id for turn in dialogue.turns}
    kept = []
    for memory in observations:
        if memory.scope != dialogue.scope or not known.issuperset(memory.sources):
            left_out["of another dialogue"] += 1
        elif is_blank(memory.text):
            left_out["blank observation"] += 1
        else:
            kept.append(_with_dimensions(memory))
    return Extraction(memories=tuple(kept), left_out=dict(left_out))


EXTRACTORS: Mapping[str, Extractor] = MappingProxyType(
    {"turns": turn_memories, "facts": fact_memories}
)


def turn_text(turn: Turn) -> str:
    """A turn as "Speaker: text [shares CAPTION] [attaches TEXT]", without blank parts."""
    parts = [f"{turn.speaker}:", turn.text.strip()]
    if turn.caption and not is_blank(turn.caption):
        parts.append(f"[shares {turn.caption.strip()}]")
    if turn.attachment and not is_blank(turn.attachment):
        parts.append(f"[attaches {turn.attachment.strip()}]")
    return " ".join(part for part in parts if not is_blank(part))


def _unusable(turn: Turn) -> str | None:
    if turn.role == "tool":
        return "tool turn"
    said = (turn.text, turn.caption or "", turn.attachment or "")
    return "blank turn" if all(is_blank(text) for text in said) else None


def _facts_of_turn(turn: Turn, people: tuple[str, ...], left_out: Counter[str]) -> list[Fact]:
    others = tuple(person for person in people if person != turn.speaker)
    facts: list[Fact] = []
    for sentence in sentences_of(turn.text):
        content = without_address(sentence, others)
        made, reason = facts_of_sentence(content, turn.speaker, turn.time)
        facts += made
        if reason is not None:
            left_out[reason] += 1
    return facts


def _memory(turn: Turn, scope: str, kind: MemoryKind, fact: Fact) -> Memory:
    """A memory whose text is the fact's: a turn as it stands counts as one about its speaker."""
    digest = hashlib.sha256(fact.text.encode()).hexdigest()[:6]
    return Memory(
        id=f"t:{turn.id}" if kind == "turn" else f"f:{turn.id}#{digest}",
        scope=scope,
        kind=kind,
        text=fact.text,
        sources=(turn.id,),
        owner=turn.speaker,
        subject=fact.subject,
        role=turn.role,
        session=turn.session,
        time=turn.time,
        dimensions=dimensions.of_statement(fact.sentence),
    )


def _with_dimensions(memory: Memory) -> Memory:
    return msgspec.structs.replace(memory, dimensions=dimensions.of_statement(memory.text))
