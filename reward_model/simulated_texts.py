"""Synthetic texts to read: a query, nine memories and two responses that follow planned features.

Memories are turns of the bundled sample's people, word for word; queries and sentences are our own
templates (`simulated/texts.json`); what they state as advice or fact is filler that nobody checked.
A response is planned as numbers of sentences (personal ones, next steps, ..) and of headings, and
filled up to its length: HEAD is exact, LEN within a few words. The offline scorer with MiniLM finds
the others again with these rank correlations (821 default pairs): ASSUMP .92, AXIS .89, CLOSURE,
OPT and REGISTER .77, PROP .69, COST .67, COMMIT .57, BREADTH .51, REL .17 (people's turns are
chatty: cosines differ more between queries than with the share of turns on the topic).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from reward_model.simulated_plans import Plan, planned_pair
from workbench.datasets.report import ImportLog
from workbench.datasets.store import load_sample
from workbench.errors import UsageError

__all__ = ["PEOPLE", "Texts", "attention_pair", "write_pair"]

T = TypeVar("T")

PEOPLE = ("Nadia", "Tomasz", "Kwame", "Efua", "Yuki", "Marisol")
MEMORIES = 9
FEWEST, MOST = 90, 150  # words, before LEN parts the two and what they must hold raises both
OPTION_WORDS, OPTION_HITS = 12, 2  # of a sentence on options: all, and those that OPT counts
PARAGRAPH = 3


class Texts(NamedTuple):
    """The texts of one pair."""

    query: str
    memories: tuple[str, ...]
    with_memory: str
    without_memory: str


class _Subject(NamedTuple):
    """What a pair is about: the topic's name, and facts that its memories bear out."""

    topic: str
    facts: list[str]


class _Draft:
    """A response in the making: sentences in reading order, and headings to divide them."""

    def __init__(self, body: list[str], titles: list[str]) -> None:
        self.body, self.titles = body, titles
        self.words = sum(map(_words, [*body, *titles]))

    def insert(self, line: str, rng: np.random.Generator) -> None:
        """Put a sentence somewhere between the first and the last."""
        self.body.insert(int(rng.integers(1, max(2, len(self.body)))), line)
        self.words += _words(line)

    @property
    def text(self) -> str:
        """Markdown: an opening, then a section to each heading; without any, short paragraphs."""
        body = self.body
        if not self.titles:
            groups = [body[at : at + PARAGRAPH] for at in range(0, len(body), PARAGRAPH)]
            return "\n\n".join(" ".join(group) for group in groups)
        bounds = np.linspace(1, len(body), len(self.titles) + 1).round().astype(int).tolist()
        parts = [body[0]]
        for title, start, end in zip(self.titles, bounds, bounds[1:], strict=False):
            parts += [f"## {title}", " ".join(body[start:end])]
        return "\n\n".join(part for part in parts if part)


def write_pair(person: str, planned: Mapping[str, float], rng: np.random.Generator) -> Texts:
    """The texts of one pair of a person of the sample, from its raw features by name.

    People speak on some topics in fewer than nine turns: a REL of 1 then means all of these.
    Raises UsageError where the sample has no such person.
    """
    if person not in PEOPLE:
        raise UsageError(f"the sample has no {person!r}; its people are {', '.join(PEOPLE)}")
    topics = _bank()["topics"]
    name = _shuffled(list(topics), rng)[0]
    memories, facts = _remember(person, name, planned["REL"], rng)
    subject = _Subject(name, facts)
    plans = planned_pair(planned, rng)
    drafts = [
        _Draft(_sentences(plan, subject, rng), _titles(plan.headings, name, rng)) for plan in plans
    ]
    share = planned["OPT"] / 100 * OPTION_WORDS / OPTION_HITS
    parted = (math.exp(planned["LEN"] / 2), math.exp(-planned["LEN"] / 2))
    needed = [draft.words / part for draft, part in zip(drafts, parted, strict=True)]
    words = max(float(rng.uniform(FEWEST, MOST)), max(needed) / (1 - share))
    for draft, part in zip(drafts, parted, strict=True):
        options = round(words * part * planned["OPT"] / 100 / OPTION_HITS)
        for line in _some("option", options, name, rng):
            draft.insert(line, rng)
        _fill(draft, words * part, name, rng)
    responses = [draft.text for draft in drafts]
    return Texts(_shuffled(topics[name]["queries"], rng)[0], memories, *responses)


def attention_pair(person: str, memory_right: bool, rng: np.random.Generator) -> Texts:
    """A pair that only checks attention; the memory response is the right one, or the other."""
    text = _bank()["sentences"]["attention"]
    both = (text["right"], text["wrong"]) if memory_right else (text["wrong"], text["right"])
    memories = tuple(_shuffled(list(_turns(person).values()), rng)[:MEMORIES])
    return Texts(text["query"], memories, *both)


# ---------------------------------------------------------------- what is known


@lru_cache(maxsize=1)
def _bank() -> dict[str, Any]:
    """Our templates."""
    path = Path(__file__).parent / "simulated" / "texts.json"
    bank: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return bank


@lru_cache(maxsize=len(PEOPLE))
def _turns(person: str) -> dict[str, str]:
    """What a person of the sample said, by the id of the turn."""
    scope = _bank()["people"][person]["scope"]
    dialogues = load_sample(ImportLog()).dialogues
    turns = (turn for one in dialogues if one.scope == scope for turn in one.turns)
    return {turn.id: turn.text for turn in turns if turn.speaker == person}


@cache
def _on_topic(person: str, topic: str) -> dict[str, int]:
    """How many of a topic's words the turns of a person use that are about it, or bear out a fact
    of it."""
    topical = set(_bank()["topics"][topic]["words"])
    used = {turn: len(topical & set(_tokens(text))) for turn, text in _turns(person).items()}
    known = {turn for turn, _ in _bank()["people"][person]["facts"][topic]}
    return {turn: number for turn, number in used.items() if number or turn in known}


def _remember(
    person: str, topic: str, relevance: float, rng: np.random.Generator
) -> tuple[tuple[str, ...], list[str]]:
    """Nine turns of a person, the share `relevance` of them on the topic, in random order, and the
    facts that they bear out: those on the topic first."""
    turns, facts = _turns(person), _bank()["people"][person]["facts"]
    about = dict(facts[topic])
    others = {turn: fact for name, known in facts.items() if name != topic for turn, fact in known}
    order = _shuffled(list(turns), rng)
    # Turns that bear out a fact come first, so that a response has something to rest on.
    order.sort(key=lambda turn: turn not in about and turn not in others)
    topical = _on_topic(person, topic)
    on = sorted(topical, key=lambda turn: (turn not in about, -topical[turn], order.index(turn)))
    off = [turn for turn in order if turn not in topical]
    wanted = round(relevance * min(MEMORIES, len(on)))
    picked = on[:wanted] + off[: MEMORIES - wanted]
    known = [facts[turn] for facts in (about, others) for turn in picked if turn in facts]
    return tuple(turns[turn] for turn in _shuffled(picked, rng)), known


# ---------------------------------------------------------------- what is written


def _sentences(plan: Plan, subject: _Subject, rng: np.random.Generator) -> list[str]:
    """What a response must say, in reading order, but for options."""
    templates = _shuffled(_bank()["sentences"]["personal"], rng)
    personal = [
        line.format(fact=fact) for line, fact in zip(templates, subject.facts, strict=False)
    ]
    covered = _shuffled(_bank()["topics"][subject.topic]["aspects"], rng)[: plan.aspects]
    content = [one["advice" if at < plan.advisory else "fact"] for at, one in enumerate(covered)]
    numbers = {
        "stiff": plan.stiff,
        "assumption": plan.assumed,
        "cost": plan.costs,
        "commit": plan.commits,
        "closure": plan.steps,
    }
    said = {kind: _some(kind, number, subject.topic, rng) for kind, number in numbers.items()}
    opening = said["stiff"] or _some("fits", 1, subject.topic, rng)
    return [
        *opening[:1],
        *personal[: plan.grounded],
        *said["assumption"],
        *said["cost"],
        *_shuffled(content, rng),
        *opening[1:],
        *said["commit"],
        *said["closure"],
    ]


def _some(kind: str, number: int, topic: str, rng: np.random.Generator) -> list[str]:
    """So many sentences of a kind; each template is used once before any is used again."""
    lines = _shuffled(_bank()["sentences"][kind], rng)
    titles = _shuffled(_aspect_titles(topic), rng)
    return [lines[at % len(lines)].format(title=titles[at % len(titles)]) for at in range(number)]


def _titles(number: int, topic: str, rng: np.random.Generator) -> list[str]:
    """Headings, the topic's own first; sixteen in all, and no plan has more."""
    more = _bank()["sentences"]["more_titles"]
    return [*_shuffled(_aspect_titles(topic), rng), *more][:number]


def _aspect_titles(topic: str) -> list[str]:
    return [aspect["title"] for aspect in _bank()["topics"][topic]["aspects"]]


@cache
def _fillers(topic: str) -> tuple[str, ...]:
    lines, titles = _bank()["sentences"]["filler"], _aspect_titles(topic)
    return tuple(dict.fromkeys(line.format(title=title) for line in lines for title in titles))


def _fill(draft: _Draft, words: float, topic: str, rng: np.random.Generator) -> None:
    """Add neutral sentences until the draft has `words` words, as nearly as one more can do it."""
    pool = _shuffled(_fillers(topic), rng)
    longest = max(map(_words, pool))
    while pool:
        missing = words - draft.words
        near = (
            pool[0] if missing > 2 * longest else min(pool, key=lambda x: abs(_words(x) - missing))
        )
        if abs(missing - _words(near)) >= abs(missing):
            return
        pool.remove(near)
        draft.insert(near, rng)


@lru_cache(maxsize=4096)
def _words(line: str) -> int:
    return len(_tokens(line))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[\w'’-]+", text.lower())


def _shuffled(items: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [items[at] for at in rng.permutation(len(items))]
