"""User profiles by rule: stable attributes, preferences and relationships of one person.

A statement enters where a rule of `lexicon/profile_rules.tsv` matches it: behind the person's name
or its possessive, at the beginning, or for some rules anywhere.
Of attributes that a person has one of at a time (job, home, diet, marital status, age), and of what
is said of one relative, the latest statement wins; other statements are merged where they say the
same. Facts come ordered: attributes, relationships, preferences, each by time; last what the person
keeps coming back to (`topics`). A model may choose better; the rule is there to be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Literal

import msgspec

from workbench.memory.periods import MONTHS
from workbench.memory.topics import recurring_topics
from workbench.memory.words import phrase_list, word_list
from workbench.schema import Memory, Profile, Record

__all__ = ["Choice", "build_profile", "choose_facts"]

Aspect = Literal["attribute", "relationship", "preference"]
ORDER: tuple[Aspect, ...] = ("attribute", "relationship", "preference")
MOST_FACTS = 40

ADVERBS = r"(?:(?:also|really|just|still|now|always|currently|absolutely|finally|\w+ly) )*"


class Rule(Record, frozen=True, kw_only=True):
    """What a statement must say after the person's name, or after its possessive where `of` is
    "Ana's", or with {NAME} anywhere in it where `of` is "any". `single` names the attribute of
    which a person has one at a time."""

    aspect: Aspect
    pattern: str
    of: str
    single: str = ""


class Choice(Record, frozen=True, kw_only=True):
    """A profile, and how many statements about its person were left out for which reason."""

    profile: Profile
    left_out: dict[str, int]


# A statement of the moment, a plan or a doubt is no stable trait.
UNSTABLE = re.compile(
    r"\b(?:might|maybe|perhaps|today|tonight|right now|at the moment|would|could|if)\b"
    r"|\b(?:this|these|those)\b",
    re.IGNORECASE,
)
DATED = re.compile(rf"\s*\(\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\)$", re.IGNORECASE)


def build_profile(scope: str, person: str, memories: Iterable[Memory]) -> Profile:
    """The profile of one person: at most 40 facts of theirs, each with its sources.

    `memories` are the scope's facts or observations, and its turns: what a person says of
    themselves is taken from the former, what they return to from the latter.
    """
    return choose_facts(scope, person, memories).profile


def choose_facts(scope: str, person: str, memories: Iterable[Memory]) -> Choice:
    """`build_profile` with its account of what was left out.

    Only statements whose subject is `person`, or begins as theirs ("Ana's sister"), are looked at.
    """
    left_out: Counter[str] = Counter()
    kept: dict[tuple[Aspect, str], Memory] = {}
    ordered_by_time = sorted(memories, key=lambda m: (_naive(m.time), m.id))
    turns = [m for m in ordered_by_time if m.kind == "turn" and m.scope == scope]
    for memory in ordered_by_time:
        if memory.kind == "turn":
            continue
        if memory.scope != scope or memory.kind not in ("fact", "observation"):
            left_out["another scope or kind"] += 1
            continue
        rule = _rule_for(memory, person)
        if rule is None:
            left_out["no stable trait" if _is_about(memory, person) else "another subject"] += 1
            continue
        fact = _as_fact(memory)
        key = _key(rule, fact)
        if key in kept:
            left_out["older value" if rule.single else "duplicate"] += 1
            fact = fact if rule.single else _merged(kept[key], fact)
        kept[key] = fact
    stated = [fact for _, fact in sorted(kept.items(), key=lambda item: ORDER.index(item[0][0]))]
    topics = recurring_topics(scope, person, turns)
    room = MOST_FACTS - len(topics)
    left_out["beyond the limit"] = max(0, len(stated) - room)
    facts = (*stated[:room], *topics)
    return Choice(
        profile=Profile(scope=scope, person=person, facts=facts), left_out=dict(+left_out)
    )


def _naive(time: datetime | None) -> datetime:
    """A time to sort by, whether its source gave a zone or not."""
    return (time or datetime.min).replace(tzinfo=None)


def _rule_for(memory: Memory, person: str) -> Rule | None:
    """The first rule that the statement fulfils, or None."""
    if not _is_about(memory, person) or UNSTABLE.search(memory.text):
        return None
    name = re.escape("the user" if person == "user" else person)
    lead = rf"(?:(?:\w+ly|Now|Since \d+),? )?{name}(?P<of>'s|),? {ADVERBS}"
    head = re.match(lead, memory.text, re.IGNORECASE)
    of, rest = ("Ana" + head["of"], memory.text[head.end() :]) if head else ("any", "")
    for rule in _rules():
        if rule.of == of and re.match(rule.pattern, rest):
            return rule
        if rule.of == "any" and re.search(rule.pattern.replace("{NAME}", name), memory.text):
            return rule
    return None


def _is_about(memory: Memory, person: str) -> bool:
    """Whether the person, or one of their people, is the statement's subject."""
    return memory.subject == person or memory.text.startswith(f"{person}'s ")


def _key(rule: Rule, fact: Memory) -> tuple[Aspect, str]:
    """What only one fact of a profile can be about."""
    if rule.single == "relative":
        return rule.aspect, fact.subject
    return rule.aspect, rule.single or _content(fact.text)


@cache
def _rules() -> tuple[Rule, ...]:
    """The rules of `lexicon/profile_rules.tsv`, validated, in order."""
    nouns = {
        "{OCCUPATION}": rf"(?:[a-z-]+ ){{0,3}}?(?:{'|'.join(phrase_list('occupations'))})\b",
        "{RELATIVE}": rf"(?:[\w'-]+ ){{0,3}}?(?:{'|'.join(phrase_list('relatives'))})\b",
        "{HABIT}": rf"(?:{'|'.join(sorted(word_list('habits')))})",
    }
    rules = []
    for line in phrase_list("profile_rules", ".tsv"):
        aspect, single, of, pattern = line.split("\t")
        for placeholder, alternatives in nouns.items():
            pattern = pattern.replace(placeholder, alternatives)
        row = {"aspect": aspect, "of": of, "pattern": pattern, "single": single.strip("-")}
        rules.append(msgspec.convert(row, Rule))
    return tuple(rules)


def _as_fact(memory: Memory) -> Memory:
    """The statement as a profile fact: a trait carries no date of saying in its text."""
    return msgspec.structs.replace(
        memory, id=f"p:{memory.id}", kind="fact", text=DATED.sub("", memory.text)
    )


def _merged(first: Memory, second: Memory) -> Memory:
    """The later wording with the sources of both."""
    sources = tuple(dict.fromkeys((*first.sources, *second.sources)))
    return msgspec.structs.replace(second, sources=sources)


def _content(text: str) -> str:
    """What a statement says, apart from adverbs, case and punctuation: equal for duplicates."""
    words = re.findall(r"[\w']+", text.lower())
    return " ".join(w for w in words if not re.fullmatch(ADVERBS.strip(), w + " "))
