"""What a judge's reply says: right, wrong, or nothing that may count.

Strict: a verdict is read where it is *stated*, never where a word happens to stand. Of stated ones
the judge's own last one counts:

1. a JSON object with one of `KEYS`: true or false, or a word for either; then
2. "Verdict: X", "the final label is X" and the like, where it stands after that object; then
3. where there is neither: a line of X alone, an opening "X." or a sentence "The response is X.",
   and these only where all of them agree.

X is correct, right, true, yes or incorrect, wrong, false, no; "not correct" is wrong, and "not
incorrect" is nothing. A choice ("CORRECT or WRONG"), a doubt ("correct, but .."), a question, a
copied example and whatever repeats the data that the judge was shown are no verdicts.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from workbench.llm import Reply
from workbench.prompting import grading_language
from workbench.replies import REFUSAL, FailureKind
from workbench.reply_json import Found, objects_in
from workbench.schema import Record

__all__ = ["EXAMPLE_REASON", "Verdict", "VerdictFailure", "read_verdict", "verdict_of"]

VerdictFailure = FailureKind | Literal["unparsed"]

# The reason that the prompt's examples give: an object with it is the example, and no verdict.
EXAMPLE_REASON = "what decides it"

KEYS = (
    *("verdict", "final_verdict", "label", "match", "matches", "correct", "is_correct"),
    *("judgment", "judgement", "decision", "result"),
)
RIGHT = ("correct", "right", "true", "yes")
WORDS = "incorrect|correct|wrong|right|true|false|yes|no"
# What Markdown and quotation marks put around a word; `INLINE` stays on its line.
MARKUP, INLINE = r"[\s*_`\"'“”\[\](){}\\]*", r"[ \t*_`\"'“”\])}]*"
# What may follow a stated word, and what would take it back.
DOUBT = (
    rf"(?:[\s,–—-]*\b(?:but|though|although|except|otherwise|or|and|if|unless|only|{WORDS})"
    r"|[.;]\s*(?:but|though|although|except|however))\b"
)
STATED = re.compile(
    rf"{MARKUP}(?P<no>not\s+)?(?P<word>{WORDS})\b{INLINE}"
    rf"(?:$|\n|(?!{DOUBT})(?:[.!,;(<]|[-–—]|because\b|since\b|as\b))",
    re.IGNORECASE,
)
ALONE = re.compile(rf"[\W_]*(?P<no>not\s+)?(?P<word>{WORDS})[\W_]*", re.IGNORECASE)

NOUN = r"\b(?:verdict|label|judge?ment|decision|grade|assessment|conclusion|final answer)"
BEGIN = r"(?:^|(?<=[.!?\n]))\s*(?:(?:so|thus|therefore|hence|overall|in short)\b,?\s*)?"
LABEL = re.compile(
    rf"{NOUN}(?:{MARKUP}(?P<sign>[:=→]|->|=>|–|—)|>)"
    rf"|{BEGIN}(?:(?:the|my|this)\s+)?(?:final\s+)?{NOUN}\s+is\b",
    re.IGNORECASE,
)
SENTENCE = re.compile(
    rf"{BEGIN}(?:(?:the|this|that|its|their)\s+)?"
    r"(?:(?:model's|system's|given|generated|candidate|provided|predicted)\s+)?"
    r"(?:response|answer|hypothesis|prediction|reply)\s*(?::|\s(?:is|was)\s)\s*"
    r"(?:(?:therefore|thus|clearly|completely|entirely|factually|indeed)\s+)?",
    re.IGNORECASE,
)
# A comma is not enough behind a word that also begins other sentences ("Right, let us see").
OPENING = re.compile(
    rf"{MARKUP}(?:(?P<word>incorrect|correct|wrong)\b{INLINE}(?!{DOUBT})(?:[.!,;]|\s[-–—]|—)"
    rf"|(?P<chat>right|true|false|yes|no)\b{INLINE}(?:[.!;](?!\s*\d)|\s[-–—]|—))",
    re.IGNORECASE,
)
QUOTED = re.compile(r"\"[^\"\n]+\"|“[^”\n]+”|`+[^`\n]+`+|(?<!\w)'[^'\n]+'(?!\w)")


class Verdict(Record, frozen=True, kw_only=True):
    """`right` is None where there is no verdict; then `failure` is its class and `detail` says what
    was wrong."""

    right: bool | None = None
    failure: VerdictFailure | None = None
    detail: str = ""


def verdict_of(reply: Reply, data: str = "") -> Verdict:
    """The verdict of a call. One that failed has none, whatever text came; a reply that reached its
    length limit counts only where a whole JSON object had stated its verdict by then."""
    if reply.failure is None:
        return read_verdict(reply.text, data)
    if reply.failure != "truncated":
        return Verdict(failure=reply.failure, detail=reply.detail)
    found = objects_in(reply.text)
    value, _ = (None, "") if found.cut else _of_objects(found, _squeezed(data))
    return _none("truncated", "cut off") if value is None else Verdict(right=value)


def read_verdict(text: str, data: str = "") -> Verdict:
    """The verdict that a reply states; see the module. `data` is what the judge was shown."""
    found = objects_in(text)
    visible = text[found.begin :]
    if found.cut:
        return _none("truncated", "a thought or a JSON object is not closed")
    if not visible.strip():
        return _none("unparsed", "empty")
    return _of_visible(found, visible, data)


def _of_visible(found: Found, visible: str, data: str) -> Verdict:
    """The verdict of a reply's text past its thoughts."""
    given = _squeezed(data)
    quotes = [source for source in found.sources if _squeezed(source) in given]
    value, source = _of_objects(found, given)
    tail = visible[visible.rfind(source) + len(source) :] if source else visible
    own = _own(tail, data, quotes)
    stated = _labelled(own)
    if found.broken and len(set(stated)) > 1:
        return _none("unparsed", "it contradicts itself")
    if stated:
        return _read(stated[-1], "no verdict behind the last label")
    if source:
        return _read(value, "the object's verdict cannot be read")
    if len(found.objects) > len(quotes):
        return _none("unparsed", "no object has a verdict")
    return _in_words(own)


def _of_objects(found: Found, given: str) -> tuple[bool | None, str]:
    """What the last object that has a verdict and is no quote says, and its text ("": none has)."""
    for value, source in reversed(list(zip(found.objects, found.sources, strict=True))):
        told = [one for key, one in value.items() if _plain(key) in KEYS]
        if not told or _squeezed(source) in given:
            continue
        verdicts = {_polarity(one) for one in told}
        copied = str(value.get("reason", "")).strip() == EXAMPLE_REASON
        return (None if copied or len(verdicts) > 1 else verdicts.pop()), source
    return None, ""


def _plain(key: str) -> str:
    return re.sub(r"[\s-]+", "_", key.strip().lower())


def _polarity(value: Any) -> bool | None:
    """True and false as they are, or by a word that is all of a string; nothing else is coerced."""
    if isinstance(value, bool):
        return value
    said = ALONE.fullmatch(value) if isinstance(value, str) and "?" not in value else None
    return _said(said) if said else None


def _said(match: re.Match[str]) -> bool | None:
    right = match["word"].lower() in RIGHT
    if match["no"] is None:
        return right
    return False if match["word"].lower() in ("correct", "right", "true") else None


def _labelled(text: str) -> list[bool | None]:
    """What stands behind each label, in order; None where that is no verdict."""
    found = []
    for label in LABEL.finditer(text):
        stated = STATED.match(text, label.end())
        # "The verdict is based on .." is a sentence like any other.
        if stated or label["sign"]:
            found.append(_said(stated) if stated else None)
    return found


def _in_words(text: str) -> Verdict:
    """The verdict of a reply without object and label, where all that it states agrees."""
    opening = OPENING.match(text)
    rest = text[opening.end() :] if opening else text
    if REFUSAL.match((rest if opening and opening["chat"] else text).replace("’", "'").strip()):
        return _none("refusal", "")
    lines = (ALONE.fullmatch(line) for line in text.splitlines() if "?" not in line)
    sentences = (STATED.match(text, found.end()) for found in SENTENCE.finditer(text))
    stated = {_said(match) for match in (*lines, *sentences) if match}
    if opening:
        stated.add((opening["word"] or opening["chat"]).lower() in RIGHT)
    if len(stated) > 1:
        return _none("unparsed", "it contradicts itself")
    return _read(stated.pop() if stated else None, "no verdict is stated")


def _own(text: str, data: str, quotes: list[str]) -> str:
    """The reply without what it repeats of the data: objects, quotes and lines of more than one
    word, and the data's lines that speak to a judge."""
    given = _squeezed(data)
    for quote in quotes:
        text = text.replace(quote, " ")
    for line in data.splitlines():
        if grading_language(line):
            text = text.replace(line.strip(), " ").replace(line.strip().replace("‹", "<"), " ")
    text = QUOTED.sub(lambda found: " " if _repeats(found.group()[1:-1], given) else found[0], text)
    return "\n".join("" if _repeats(line, given) else line for line in text.splitlines())


def _repeats(piece: str, given: str) -> bool:
    said = piece.strip(" \t>*`-\"'“”")
    return len(said.split()) > 1 and _squeezed(said) in given


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _read(value: bool | None, detail: str) -> Verdict:
    return _none("unparsed", detail) if value is None else Verdict(right=value)


def _none(failure: VerdictFailure, detail: str) -> Verdict:
    return Verdict(failure=failure, detail=detail)
