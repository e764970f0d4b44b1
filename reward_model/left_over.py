"""What automatic masking misses: said in words, and in the words of the texts that look like it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from reward_model.placeholders import PLACEHOLDER

__all__ = ["MISSES", "capitals_left"]

MISSES = (
    "No model of names is used. A name that nobody listed is found only after words such as "
    "'my sister', 'Dr' or 'works at', and in English; everywhere else it stays.",
    "Nicknames, misspellings, inflected names of other languages and names run together with other "
    "words stay, unless they are listed in just that form.",
    "Places are masked where they are listed, and addresses where they look like English, German, "
    "French, Spanish, Italian or Portuguese ones; every other town, landmark or venue stays.",
    "Days are generalised in numbers and in English; months, years, ages, weekdays, durations, "
    "relative dates ('last Friday') and bare days ('the 30th') stay, and so do days in other "
    "languages.",
    "Telephone numbers without a plus, a zero, brackets or separators can be missed, and so can "
    "numbers that are written in words, and identity numbers of most countries.",
    "Nothing recognises a person by what is told: a rare job in a small town, an illness, a family "
    "of seven. Only somebody who reads the texts can judge that.",
    "Style, opinions and health, political or sexual matters are not masked: they are what the "
    "texts are about.",
    "Too much can be masked as well: a listed name that is also an ordinary word goes wherever it "
    "is written with a capital, and capitalised words after 'works at' go whatever they are.",
)
LISTED = 40
# A capital inside a sentence: what English keeps for names, and a few words more.
INSIDE = re.compile(r"(?<=[^\W\d_,;:)]\s)[^\W\d_][\w'’-]+(?:\s[^\W\d_][\w'’-]+)*")
USUAL = frozenset(
    (
        *("I", "I'm", "I've", "I'd", "I'll", "Monday", "Tuesday", "Wednesday", "Thursday"),
        *("Friday", "Saturday", "Sunday", "January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December", "English", "OK"),
        *("Mr", "Mrs", "Ms", "Dr", "Prof"),
    )
)


def capitals_left(texts: Iterable[str]) -> list[dict[str, str | int]]:
    """Capitalised words inside sentences that were not masked, with how often they stand there.

    At most 40, the rarest last; a list for a person to look through, who knows which are names.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        for run in INSIDE.finditer(PLACEHOLDER.sub("x", text)):
            counts.update(_capitalised(run.group()))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"words": words, "times": times} for words, times in ranked[:LISTED]]


def _capitalised(run: str) -> list[str]:
    """The runs of capitalised words in some words."""
    found: list[str] = []
    current: list[str] = []
    for word in [*run.split(), ""]:
        bare = word.removesuffix("'s").removesuffix("’s")
        if bare[:1].isupper() and bare not in USUAL:
            current.append(bare)
        elif current:
            found.append(" ".join(current))
            current = []
    return found
