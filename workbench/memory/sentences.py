"""A turn's text as sentences in plain spelling, without what only keeps a conversation going."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, partial

from workbench.embed import is_blank
from workbench.memory.words import phrase_list, word_list

__all__ = ["plain", "sentences_of", "without_address"]

# A sentence ends at . ! ? … (with closing quotes), at a line end, or at an emoticon after a space.
END = re.compile(r"(?<=[.!?\u2026])[\"')\]]*\s+(?=[^a-z\s])|[\r\n]+")
EMOTICON = re.compile(r"(?:(?<=\s)|^)(?:[:;=]-?[()DPpO/3]|<3|xD|\^_\^)(?=\s|$)")
QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2026": "."})
# "I've got to" before "gotta" alone, so that no "'ve" is left over.
SPELLINGS = tuple(
    (re.compile(rf"(?<!\w){informal}", re.IGNORECASE), formal)
    for informal, formal in (
        (r"gonna\b", "going to"),
        (r"(?<=I)'ve gotta\b", " have to"),
        (r"gotta\b", "have to"),
        (r"wanna\b", "want to"),
        (r"kinda\b", "kind of"),
        (r"sorta\b", "sort of"),
        (r"(?:'cause|cuz|coz)\b", "because"),
        (r"u\b", "you"),
        (r"ur\b", "your"),
    )
)
ABBREVIATIONS = re.compile(r"\b(Mr|Mrs|Ms|Dr|St|Prof|vs|etc|e\.g|i\.e|a\.m|p\.m|No)\.(?=\s)")
HELD = "\ue000"  # private use: a full stop that ends no sentence


def sentences_of(text: str) -> list[str]:
    """The sentences of a turn in order, in `plain` spelling."""
    held = ABBREVIATIONS.sub(rf"\1{HELD}", plain(text))
    return [piece.replace(HELD, ".").strip() for piece in END.split(held) if not is_blank(piece)]


def plain(text: str) -> str:
    """Straight quotes, no emoji or emoticons, spelt-out "gonna" and "&"; the words stay."""
    text = text.translate(QUOTES).replace(" & ", " and ")
    if not text.isascii():
        text = "".join(c for c in text if unicodedata.category(c) not in ("So", "Cf", "Sk", "Cs"))
    text = re.sub(r"(?<=\w\win)'(?= )", "g", text)
    text = EMOTICON.sub(" ", text)
    for informal, formal in SPELLINGS:
        text = informal.sub(partial(_in_case, formal), text)
    return re.sub(r"[ \t]+", " ", text)


def without_address(sentence: str, people: tuple[str, ...] = ()) -> str:
    """The sentence without lead-ins ("Yeah, well,") and without being addressed to someone.

    `people` are the names of those spoken to; "Mel" addresses Melanie.
    """
    lead, trail = _address_patterns(people)
    while match := lead.match(sentence):
        sentence = sentence[match.end() :]
    sentence = trail.sub("", sentence)
    return sentence[:1].upper() + sentence[1:]


@cache
def _address_patterns(people: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What opens and what closes a sentence without adding to it."""
    names = [re.escape(name) for person in people for name in _forms(person)]
    address = "|".join((*sorted(word_list("nicknames")), *names))
    lead = re.compile(
        rf"(?:(?:{_lead_ins()})\b(?:,? (?:{address})\b)?|(?:{address})\b)"
        rf"\s*(?:[,:;!.\u2013]|-+ |\s-)\s*"
        r"|(?:and|but|so(?! far)|also|plus|oh|well|yeah|yep|wow|then|anyway|actually|honestly)\b"
        r",?\s+",
        re.IGNORECASE,
    )
    trail = rf",\s*(?:{address}|too|though|you know|haha|lol|btw)\s*(?=[.!?]*$)"
    return lead, re.compile(trail, re.IGNORECASE)


@cache
def _lead_ins() -> str:
    phrases = sorted(phrase_list("lead_ins"), key=len, reverse=True)
    return "|".join(re.escape(phrase) for phrase in phrases)


def _in_case(formal: str, match: re.Match[str]) -> str:
    """The formal spelling with a capital where the informal one had it."""
    return formal.capitalize() if match.group()[0].isupper() else formal


def _forms(person: str) -> list[str]:
    """A name and the short forms that people make of it: "Melanie" -> "Melan", "Mela", "Mel"."""
    first = person.partition(" ")[0]
    return [person, first, *(first[:n] for n in range(len(first) - 1, 2, -1))]
