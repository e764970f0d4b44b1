"""User profiles by rule: stable attributes, preferences and relationships of one person.

A statement enters where it begins with the person's name and a rule of `lexicon/profile_rules.tsv`
matches what follows.
Of attributes that a person has one of at a time (job, home, diet, marital status, age) the latest
statement wins; other statements are merged where they say the same. Facts come ordered: attributes,
relationships, preferences, each by time. A model may choose better; the rule is there to be read.
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
from workbench.memory.words import phrase_list
from workbench.schema import Memory, Profile, Record

__all__ = ["Choice", "build_profile", "choose_facts"]

Aspect = Literal["attribute", "relationship", "preference"]
ORDER: tuple[Aspect, ...] = ("attribute", "relationship", "preference")
MOST_FACTS = 40

ADVERBS = r"(?:(?:also|really|just|still|now|always|currently|absolutely|finally|\w+ly) )*"


class Rule(Record, frozen=True, kw_only=True):
    """What a statement must say after the person's name, or after its possessive where `of` is
    "Ana's". `single` names the attribute of which a person has one at a time."""

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
    """The profile of one person: at most 40 facts of theirs, each with its sources."""
    return choose_facts(scope, person, memories).profile


def choose_facts(scope: str, person: str, memories: Iterable[Memory]) -> Choice:
    """`build_profile` with its account of what was left out.

    Takes memories of kind "fact" and "observation" whose subject is `person`; turns are first made
    into facts by the caller.
    """
    left_out: Counter[str] = Counter()
    kept: dict[tuple[Aspect, str], Memory] = {}
    for memory in sorted(memories, key=lambda m: (m.time or datetime.min, m.id)):
        if memory.scope != scope or memory.kind not in ("fact", "observation"):
            left_out["another scope or kind"] += 1
            continue
        rule = _rule_for(memory, person)
        if rule is None:
            left_out["another subject" if memory.subject != person else "no stable trait"] += 1
            continue
        fact = _as_fact(memory)
        key = (rule.aspect, rule.single or _content(fact.text))
        if key in kept:
            left_out["older value" if rule.single else "duplicate"] += 1
            fact = fact if rule.single else _merged(kept[key], fact)
        kept[key] = fact
    ordered = sorted(kept.items(), key=lambda item: ORDER.index(item[0][0]))
    left_out["beyond the limit"] = max(0, len(ordered) - MOST_FACTS)
    facts = tuple(fact for _, fact in ordered[:MOST_FACTS])
    return Choice(
        profile=Profile(scope=scope, person=person, facts=facts), left_out=dict(+left_out)
    )


def _rule_for(memory: Memory, person: str) -> Rule | None:
    """The first rule that the statement fulfils, or None."""
    if memory.subject != person or UNSTABLE.search(memory.text):
        return None
    name = re.escape("the user" if person == "user" else person)
    lead = rf"(?:(?:\w+ly|Now|Since \d+),? )?{name}(?P<of>'s|),? {ADVERBS}"
    head = re.match(lead, memory.text, re.IGNORECASE)
    if head is None:
        return None
    rest = memory.text[head.end() :]
    rules = (rule for rule in _rules() if rule.of == "Ana" + head["of"])
    return next((rule for rule in rules if re.match(rule.pattern, rest)), None)


@cache
def _rules() -> tuple[Rule, ...]:
    """The rules of `lexicon/profile_rules.tsv`, validated, in order."""
    nouns = {
        "{OCCUPATION}": rf"(?:[a-z-]+ ){{0,3}}?(?:{'|'.join(phrase_list('occupations'))})\b",
        "{RELATIVE}": rf"(?:[\w'-]+ ){{0,3}}?(?:{'|'.join(phrase_list('relatives'))})\b",
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
