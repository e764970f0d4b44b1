"""What a response takes for granted about its reader: the personal claims in it.

    "Since you're vegetarian, make a curry."      -> "you're vegetarian"
    "Your dog needs a long walk anyway."          -> "your dog needs a long walk anyway"
    "As a busy parent of two, you need a plan."   -> "busy parent of two"

Rules (ours, English only). A claim is a reason given with "you" or "your" ("since", "given",
"because of" ..), a role ("As a nurse,"), a statement of what the reader is, has, does, likes or
once said, or "your" with a noun of `personal.txt`. What is only supposed ("if you like", "when
you're ready", "whichever you prefer"), asked ("Do you cook?") or instructed ("you can", "you need")
is none. Known limits: a claim without "you" or "your" ("A vegetarian needs iron") is missed, and
so is one told in the first or third person; irony and quotation are not understood.
"""

from __future__ import annotations

import re
from functools import cache

from reward_model.markup import Markup
from reward_model.phrases import phrases

__all__ = ["claims_of", "content_stems", "predicate"]

REST = r"[^,.;:!?\n–—()]*"
SUPPOSED = (
    r"(?<!\bif )(?<!\bunless )(?<!\bwhether )(?<!\bwhen )(?<!\bwhenever )(?<!\bonce )(?<!\buntil )"
    r"(?<!\bwhere )(?<!\bwherever )(?<!\bwhat )(?<!\bwhatever )(?<!\bwhich )(?<!\bwhichever )"
    r"(?<!\bhow )(?<!\bwhy )(?<!\bbefore )(?<!\bafter )(?<!\bone )(?<!\bdo )(?<!\bare )"
    r"(?<!\bhave )(?<!\bsomeone )(?<!\bthings )(?<!\bthat )"
)
GENERAL = r"(?:can|could|will|should|may|go|like|wish|see|want|know|need)\b"
REASON = (
    r"\b(?:because(?: of)?|since|given(?: that)?|considering(?: that)?|knowing(?: that)?|"
    r"seeing that|due to|thanks to|based on|in view of|in light of)"
    rf" (?P<reason>(?:[\w'-]+ ){{0,4}}?you(?:'re|'ve|'d|r)?\b(?! {GENERAL}){REST})"
)
FITS = (
    r"\b(?:as|with|fits|to fit|suits|matches)"
    rf" (?P<fits>you(?:'re|'ve|'d|r)?\b(?! {GENERAL}){REST})"
)
ROLE = (
    r"(?:^|(?<=[,;:] ))(?:as|for) (?:an? |(?=someone ))(?!(?:rule|result|general|first|"
    r"starting|final|side|bonus|last|next|quick|reminder|guide|ai|backup|treat|few|while|lot|long)\b)(?P<role>[^,.;:!?]+),"
)
SAID = r"(?:'ve|'d| have)? ?(?:mentioned|said|told me|noted|shared|wrote|talked about|described)"
OFTEN = (
    r"(?:already|always|still|usually|often|generally|typically|normally|rarely|never|clearly|also)"
)
DOES = (
    r"(?:love|enjoy|like|prefer|hate|dislike|avoid|live|lived|work|worked|own|play|drive|travel|"
    r"struggle|struggled|grew|moved|seem|tend|value|commute|study|studied|train|suffer|care|"
    r"were|had|used to|run|teach|speak|write|collect|follow|practise|practice)"
)
IS = (
    r"(?:'re| are) (?!not sure|ready|done|looking|able|free|welcome|good to go|in luck|set\b|"
    r"right\b|good\b|going to)\w+"
)
HAS = r"(?:'ve| have) (?!to\b|any\b|got this\b|the option|time to)\w+"
FACT = (
    rf"{SUPPOSED}\b(?P<fact>you(?:{SAID}|(?: {OFTEN})+ \w+|(?: {OFTEN})? {DOES}\b|{IS}|{HAS})"
    rf"{REST})"
)

WHO = r"(?:the )?user(?:'s)?|(?:you|i|he|she|they)(?:'re|'m|'ve|'s|'d)?|your|my|his|her|their"
PERSON = re.compile(
    rf"^(?:\[inferred\] )?(?:{WHO})(?!\S)"
    r"(?: (?:ha(?:s|ve) )?(?:mentioned|said|told me|noted|stated)(?: that)?)?"
    rf"(?: (?:{WHO})(?!\S))?(?: (?:is|are|was|were|has|have|am)(?!\S))?(?: an?(?!\S))?",
    re.IGNORECASE,
)


def claims_of(response: Markup) -> list[str]:
    """The personal claims of a response, in lower case and reading order, each once."""
    found: dict[str, None] = {}
    for sentence in response.sentences:
        text = sentence.text.lower().replace("’", "'")
        if "you" not in text and not text.startswith(("as a", "as someone", "for someone")):
            continue
        if text.endswith(("?", "？")):
            continue
        for match in _pattern().finditer(text):
            claim = next(part for part in match.groupdict().values() if part)
            found[" ".join(claim.split())] = None
    return list(found)


def predicate(text: str) -> str:
    """A claim or memory without the person that it is about, so that the two can be compared.

    "you're vegetarian" and "The user is vegetarian." both give "vegetarian". A text of nothing
    else stays.
    """
    bare = PERSON.sub("", text.strip()).strip(" .")
    return bare if any(map(str.isalnum, bare)) else text.strip()


def content_stems(words: tuple[str, ...]) -> frozenset[str]:
    """Stems of the words that carry content (no function words)."""
    from Stemmer import Stemmer

    dull = _function_words()
    return frozenset(Stemmer("english").stemWords([word for word in words if word not in dull]))


@cache
def _pattern() -> re.Pattern[str]:
    nouns = "|".join(sorted(map(re.escape, phrases("personal").entries), key=len, reverse=True))
    owned = rf"{SUPPOSED}\b(?P<owned>your (?:[\w-]+ ){{0,2}}(?:{nouns})\b{REST})"
    return re.compile("|".join((REASON, FITS, ROLE, FACT, owned)))


@cache
def _function_words() -> frozenset[str]:
    from workbench.memory.words import word_list

    return word_list("function_words") | frozenset(
        ("user", "user's", "you", "your", "you're", "you've", "yours", "yourself", "also", "so")
    )
