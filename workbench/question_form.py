"""What a question asks for, by its words: a date, a place, a list, yes or no, and about what."""

from __future__ import annotations

import re
from typing import Literal

from workbench.lexical import lexical_tokens
from workbench.memory.words import word_list
from workbench.schema import Record

__all__ = ["Form", "Kind", "form_of"]

Kind = Literal["when", "duration", "count", "who", "where", "why", "how", "yesno", "likely", "what"]

AUXILIARY = (
    r"(?:did|do|does|is|are|was|were|has|have|had|can|could|would|will|should|might|may|must)"
)
# Tried in order; the first that is found anywhere gives the kind.
PATTERNS: tuple[tuple[Kind, str], ...] = (
    ("likely", r"^(?:would|could|might|may|will)\b(?!.*\b(?:what|which|who)\b)"),
    ("yesno", rf"^{AUXILIARY}\b"),
    ("duration", r"\bhow (?:long|often|frequently|old)\b"),
    ("count", r"\bhow (?:many|much)\b"),
    (
        "when",
        r"^(?!.*\b(?:what|who|whom|whose|which|where|why|how)\b).*\bwhen\b"
        r"|\b(?:what|which) (?:year|month|day|dates?|time of year|weekend|season)\b",
    ),
    ("why", r"\bwhy\b|\bwhat (?:is|was|are) .*\breasons?\b|\bwhat (?:motivat|inspir)"),
    ("who", r"\bwho(?:se|m)?\b"),
    ("where", r"\bwhere\b|\b(?:what|which) (?:city|cities|country|countries|state|places?)\b"),
    ("how", r"\bhow\b"),
)
SEVERAL = re.compile(
    r"\b(?:what|which|whose)(?: [\w+/-]+){0,2} (?:\w+[^s\W]s|people|children)"
    r" (?:of|do|does|did|has|have|are|were|can)\b|\bwhat has\b|\bin what ways\b|\bwhere has\b",
    re.IGNORECASE,
)
ACTING = re.compile(
    r"\b(?:do|doing|plans?|planning|happened|decide[ds]?|want(?:s|ed)? to)\b", re.IGNORECASE
)
SAYING = re.compile(r"\b(?:says?|said|thinks?|feel|describes?|advice|handle)\b", re.IGNORECASE)
DENIED = re.compile(r"\bif\b.*(?:n't|\bnot|\bnever|\bwithout)\b", re.IGNORECASE)
WORD = re.compile(r"\w+(?:'\w+)*")
FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|we|our|us)\b")
ASKING = frozenset(
    lexical_tokens("what which when where who whose why how many much long type kind")
)


class Form(Record, frozen=True, kw_only=True):
    """What a question asks for.

    `several` answers are expected; it `acts` where what somebody does is asked, `says` where it is
    what they say or feel; `denied` is a condition that did not hold ("if she hadn't ..").
    `stems` are of its content, without the people named (`people`, case-folded).
    """

    kind: Kind
    several: bool = False
    acts: bool = False
    says: bool = False
    denied: bool = False
    stems: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()


def form_of(text: str, people: tuple[str, ...] = (), asker: tuple[str, ...] = ()) -> Form:
    """Read a question. `people` are those of its scope, whom it may name; `asker` says "I".

    >>> form_of("Which cities has Jon visited?", ("Jon", "Gina")).several
    True
    >>> form_of("How long has Jon been dancing?", ("Jon", "Gina")).kind
    'duration'
    """
    asked = text.strip()
    fitting = (kind for kind, pattern in PATTERNS if re.search(pattern, asked, re.IGNORECASE))
    kind: Kind = next(fitting, "what")
    about = [person for person in people if person.casefold() in asked.casefold()]
    if not about and FIRST_PERSON.search(asked):
        about = list(asker)
    named = {stem for person in people for stem in lexical_tokens(person)}
    content = {
        stem for word in WORD.findall(asked) if not _is_light(word) for stem in lexical_tokens(word)
    }
    return Form(
        kind=kind,
        several=kind in ("what", "where", "who", "how") and bool(SEVERAL.search(asked)),
        acts=bool(ACTING.search(asked)),
        says=bool(SAYING.search(asked)),
        denied=bool(DENIED.search(asked)),
        stems=frozenset(lexical_tokens(" ".join(content))) - named - ASKING,
        people=frozenset(person.casefold() for person in about),
    )


def _is_light(word: str) -> bool:
    light = word_list("function_words")
    return word.casefold() in light or word.casefold().partition("'")[0] in light
