"""How good a bank set's memories are, whoever made them: the same four questions to every kind.

- *Coverage*: how much of the questions' evidence some memory names as its source
  (`memory_quality.coverage`): what is in no memory, no ranking can find.
- *Support*: a memory without support says what none of its source turns says. Both checks must
  fail: less than `LEAST_WORDS` of its content words (by their first letters) stand in its sources,
  and its cosine with the nearest source turn is below `LEAST_COSINE`. What that proves is stated
  beside it: the share of memories that would count as supported by as many random turns of the
  same scope (`by_chance`). A swapped name, or a "not", is beyond it.
- *Duplicates*: memories of one person in the same words as an earlier one, and pairs of theirs
  whose cosine is `ALIKE` or more in other words.
- *Junk*: fewer than `FEWEST` content words, a question, or a text that cannot stand alone because a
  pronoun begins it. Turns, which are no statements, show what that costs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.bank_set import BankSet
from workbench.embed import embed
from workbench.inspection import LAYERS, dialogues_of, layers_of
from workbench.memory.episodic import turn_text
from workbench.memory.words import word_list
from workbench.memory_map import near_duplicates
from workbench.memory_quality import EVERY, coverage, duplicates
from workbench.schema import Memory, Turn

__all__ = ["junk_of", "quality", "stems_of"]

LEAST_WORDS = 0.5
LEAST_COSINE = 0.5
ALIKE = 0.95
FEWEST = 2
STEM = 4  # letters that endings leave alone: "moved" and "moving" count as one word
SHOWN = 5
SEED = 0

WORD = re.compile(r"[^\W_][\w'’-]*")
PRONOUN = re.compile(r"(?:i|you|he|she|it|we|they|this|that|these|those)\b", re.IGNORECASE)


def quality(banks: BankSet) -> dict[str, Any]:
    """A report of one bank set, JSON: what it is, counts by layer, and the four measures.

    `coverage` has the layers' mean share of a question's evidence with its interval (None where no
    question can be measured). `unsupported`, `duplicates` and `junk` count episodic memories, with
    their shares of all (None of none), `near_duplicates` pairs; examples are named and quoted.
    """
    found = [_of_scope(banks, scope) for scope in banks.dataset.scopes]
    memories = sum(one["layers"]["episodic"] for one in found)

    def listed(what: str) -> dict[str, Any]:
        examples = [example for one in found for example in one[what]]
        return {**_share(len(examples), memories), "examples": examples[:SHOWN]}

    return {
        "dataset": banks.dataset.name,
        "banks": banks.id,
        "memories": str(banks.manifest["memories"]),
        "model": banks.manifest.get("model"),
        "embedder": banks.embedder.name,
        "counts": {layer: sum(one["layers"][layer] for one in found) for layer in LAYERS},
        "coverage": _coverage(banks),
        "unsupported": listed("unsupported"),
        "by_chance": _share(sum(one["by_chance"] for one in found), memories),
        "duplicates": _share(sum(one["duplicates"] for one in found), memories),
        "near_duplicates": sum(one["near_duplicates"] for one in found),
        "junk": listed("junk"),
        "pending": dict(banks.manifest.get("pending", {})),
        "left_out": dict(banks.manifest["left_out"]),
        "thresholds": {
            "words": LEAST_WORDS,
            "cosine": LEAST_COSINE,
            "alike": ALIKE,
            "content_words": FEWEST,
        },
    }


def _of_scope(banks: BankSet, scope: str) -> dict[str, Any]:
    layers = layers_of(banks, scope)
    memories = layers["episodic"]
    turns = [turn for one in dialogues_of(banks.dataset, scope) for turn in one.turns]
    own, random = _supported(banks, scope, turns)
    junk = [(memory, why) for memory in memories if (why := junk_of(memory))]
    return {
        "layers": {layer: len(found) for layer, found in layers.items()},
        "unsupported": [
            _told(memory) for memory, holds in zip(memories, own, strict=True) if not holds
        ],
        "by_chance": sum(random),
        "duplicates": int((duplicates(banks, scope)["n"] - 1).sum()),
        "near_duplicates": near_duplicates(banks, scope, ALIKE).found,
        "junk": [{**_told(memory), "why": why} for memory, why in junk],
    }


def _supported(banks: BankSet, scope: str, turns: Sequence[Turn]) -> tuple[list[bool], list[bool]]:
    """Whether each episodic memory is supported by its sources, and whether it would be by as many
    other turns of the scope, drawn with a seed."""
    if scope not in banks.episodic or not turns:
        return [], []
    bank = banks.episodic[scope]
    texts = [turn_text(turn) for turn in turns]
    vectors = embed(texts, "passage", banks.embedder, banks.cache)
    rows = {turn.id: row for row, turn in enumerate(turns)}
    stems = [stems_of(f"{text} {_day(turn)}") for text, turn in zip(texts, turns, strict=True)]
    names = stems_of(" ".join(turn.speaker for turn in turns))
    random = np.random.default_rng(SEED)
    own: list[bool] = []
    by_chance: list[bool] = []
    for memory, vector in zip(bank.memories, bank.vectors, strict=True):
        wanted = stems_of(memory.text) - names
        sources = [rows[source] for source in memory.sources if source in rows]
        others = random.integers(0, len(turns), len(memory.sources)).tolist()
        for verdicts, said in ((own, sources), (by_chance, others)):
            words = set[str]().union(*(stems[row] for row in said))
            share = len(wanted & words) / len(wanted) if wanted else 1.0
            cosine = float((vectors[said] @ vector).max(initial=-1.0))
            verdicts.append(bool(said) and (share >= LEAST_WORDS or cosine >= LEAST_COSINE))
    return own, by_chance


def _day(turn: Turn) -> str:
    """The day of a turn as rules write it behind a fact; a date that was reckoned is no word of a
    source."""
    return f"{turn.time.day} {turn.time:%B %Y}" if turn.time else ""


def stems_of(text: str) -> set[str]:
    """The content words of a text, numbers among them, by their first letters."""
    grammar = word_list("function_words")
    words = (word.lower().removesuffix("'s") for word in WORD.findall(text.replace("’", "'")))
    return {word[:STEM] for word in words if word not in grammar}


def junk_of(memory: Memory) -> str:
    """Why a memory is none worth keeping; "" where it is. The speaker's name before a turn's text
    is no part of it."""
    text = memory.text.removeprefix(f"{memory.owner}:").strip()
    names = stems_of(memory.owner)
    if len(stems_of(text) - names) < FEWEST:
        return f"fewer than {FEWEST} content words"
    if text.endswith("?"):
        return "a question"
    return "begins with a pronoun" if PRONOUN.match(text) else ""


def _coverage(banks: BankSet) -> dict[str, Any]:
    told = coverage(banks)
    rows = told.shares.filter(told.shares["category"] == EVERY).rows(named=True)
    layers = {
        row["series"]: {
            **{name: row[name] for name in ("pieces", "covered", "mean")},
            "interval": [row["lo"], row["hi"]],
        }
        for row in rows
    }
    return {"n": told.n, "basis": told.basis, "excluded": told.excluded, "layers": layers}


def _share(n: int, memories: int) -> dict[str, Any]:
    return {"n": n, "share": round(n / memories, 4) if memories else None}


def _told(memory: Memory) -> dict[str, Any]:
    return {"memory": memory.id, "text": memory.text, "sources": list(memory.sources)}
