"""One sentence of a speaker as a fact: complete, in the third person, dated; or the reason why not.

Steps: complete what is elided, ask the gates, resolve relative dates against the day on which it
was said, put it into the third person, add that day.
"""

from __future__ import annotations

import re
from datetime import datetime

from workbench.memory import dates
from workbench.memory.gates import has_finite_verb, reason_left_out
from workbench.memory.periods import long_date
from workbench.memory.statements import third_person
from workbench.memory.words import past_forms, word_list
from workbench.schema import Record

__all__ = ["Fact", "facts_of_sentence"]

# Beginnings that elide "I" or "I'm" and can hardly elide anything else.
ELIDED_I = re.compile(r"^(?:Just |Recently |Finally |Also |Actually )?(?P<verb>[A-Za-z]+)\b")
ELIDED_AM = re.compile(
    r"^(?:Just |Currently |Still )?"
    r"(?:going(?! to be\b)|planning|thinking|trying|working|hoping|learning|"
    r"considering|looking for|getting ready|preparing|researching)\b",
    re.IGNORECASE,
)
THINGS_DO = frozenset(
    ("made", "turned", "helped", "reminded", "seemed", "sounded", "looked", "inspired", "brought")
)
# Where the whole is no fact, a part that is about its speaker may be one.
PARTS = re.compile(r"\s[-\u2013]+\s|;\s|,? (?:but|so|and) (?=(?:I|my)\b)")
# Talk about the talk, which the rest of the sentence can do without.
CONVERSATION = re.compile(
    r",?\s*\bsince (?:we|our|my)\b(?: last)? (?:talk|chat|spoke|speak|conversation|met)\w*,?",
    re.IGNORECASE,
)
ASIDE = re.compile(
    r"\s*(?:[-\u2013,]+)\s*(?:can't wait|loved? it|take a look|check it out|"
    r"(?:it(?:'s| was) )?so fun|it was awesome|have a look|thanks|thank you|what a blast)[.!]*$",
    re.IGNORECASE,
)
OWN_PART = re.compile(r"^(?:I|My)\b")
PARTIAL = frozenset(
    (
        "about the other person",
        "dangling reference",
        "no subject of its own",
        "not about the speaker",
    )
)
RELATION = re.compile(
    r"^(?:My|Our) (?P<noun>(?:(?!and )[a-z-]+ ){0,2}?(?P<who>[a-z-]+))"
    r"(?:,? (?P<name>[A-Z][a-z]+))?(?P<rest>(?!\w|').*)"
)


class Fact(Record, frozen=True, kw_only=True):
    """A statement, whom it is about, and the sentence in plain spelling that it was made from."""

    text: str
    subject: str
    sentence: str


def facts_of_sentence(
    sentence: str, speaker: str, said: datetime | None
) -> tuple[list[Fact], str | None]:
    """The facts of one sentence (none or one, or one for each usable part), or why there are none.

    `sentence` is in plain spelling without address. Without `said` relative dates stay as they are.
    """
    whole = _completed(ASIDE.sub("", CONVERSATION.sub("", sentence)).strip())
    fact, reason = _fact(whole, speaker, said)
    if fact is not None:
        return [fact], None
    if reason in PARTIAL:
        parts = [part for part in PARTS.split(sentence) if OWN_PART.match(part)]
        facts = [made for part in parts if (made := _fact(part, speaker, said)[0])]
        if facts and len(parts) < len(PARTS.split(sentence)):
            return facts, None
    return [], reason


def _fact(sentence: str, speaker: str, said: datetime | None) -> tuple[Fact | None, str | None]:
    dated = dates.rewrite(sentence, said.date()) if said else sentence
    reason = reason_left_out(dated)
    if reason is not None:
        return None, reason
    statement = third_person(dated, speaker)
    if statement is None:
        return None, "grammar not covered"
    suffix = f" ({long_date(said.date())})" if said else ""
    text = statement + suffix
    return Fact(text=text, subject=_subject(sentence, speaker), sentence=sentence), None


def _completed(sentence: str) -> str:
    """The sentence with an elided "I" or "I'm" put back: "Went to Rome" -> "I went to Rome"."""
    # "Learning about new cultures is awesome" elides nothing: its predicate follows.
    if ELIDED_AM.match(sentence) and not has_finite_verb(re.split(r"[,\u2013\u2014]", sentence)[0]):
        return f"I'm {sentence[:1].lower()}{sentence[1:]}"
    match = ELIDED_I.match(sentence)
    if match is None or re.search(r"\b(?:I|me)\b", sentence):
        return sentence
    verb = match["verb"].lower()
    if re.match(r"Been \w+ing\b", sentence):
        return f"I've {sentence[:1].lower()}{sentence[1:]}"
    if verb in past_forms() - THINGS_DO - {"was", "were", "did"}:
        return f"I {sentence[:1].lower()}{sentence[1:]}"
    return sentence


def _subject(sentence: str, speaker: str) -> str:
    """Whom a statement is about: the speaker, or whom of theirs it begins with ("My friend Jo")."""
    match = RELATION.match(sentence)
    if match is None or match["rest"].startswith(" and I"):
        return speaker
    if match["who"] not in word_list("people"):
        return speaker
    return match["name"] or f"{speaker}'s {match['noun']}"
