"""What a participant says must not appear: people, places and organisations, by name.

The surest part of de-identification: a listed name is found wherever it is written as a whole
word, in any case, with a possessive ending, in any script, and by its parts ("Ana" and "Silva" of
"Ana Silva"). Names that are ordinary words as well ("Will", "Rose", "Nice") are found only with a
capital, so that "I will" stays readable.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from workbench.embed import is_blank
from workbench.errors import DataError
from workbench.schema import Record

__all__ = ["Form", "Known", "Span", "SpanType", "find_forms", "forms", "normal", "read_known"]

SpanType = Literal[
    "PERSON", "PLACE", "ORGANISATION", "EMAIL", "PHONE", "LINK", "ACCOUNT", "NUMBER", "DATE"
]

ORDINARY_WORDS = """
will may mark grace hope faith joy rose lily iris ivy daisy violet bill art sue drew pat rich
frank jack ray summer autumn april june august dawn eve star sky rain river storm brook cliff dale
heath lance pierce chase hunter mason cooper baker cook black white brown green gray grey young
long king price rice wood stone field hill lake ford page bell berry bush case cash dean duke earl
gene guy jean josh max miles nick norm penny peg reed rob rod ruby sandy sonny stew van victor
ward wade wren bob don jay kit lee matt mike pearl robin sage tom angel christian reading bath
nice mobile apple orange target shell meta gap visa amazon cork split man turkey china chad jordan
georgia amber crystal melody carol merry pepper honey ginger basil major love day best small sharp
bright swift wise noble rush lane park parker smith taylor
"""
ORDINARY = frozenset(ORDINARY_WORDS.split())
PARTICLES = frozenset(
    (
        *(
            "de",
            "da",
            "do",
            "dos",
            "di",
            "del",
            "della",
            "du",
            "la",
            "le",
            "van",
            "von",
            "der",
            "den",
        ),
        *("ter", "bin", "al", "el", "of", "the"),
    )
)
UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


class Span(NamedTuple):
    """A piece `text[start:end]` to be masked: its type, what it is the same as, who found it, and
    for generalised ones the words that take its place."""

    start: int
    end: int
    type: SpanType
    key: str
    source: str
    instead: str = ""


class Form(NamedTuple):
    """One way in which something known may be written."""

    text: str
    type: SpanType
    key: str
    source: str = "known names"
    instead: str = ""


class Known(Record, frozen=True, kw_only=True):
    """What a participant lists.

    `people`: for each person every name they go by ("Ana Silva", "Annie"). `places`: name -> what
    to say instead ("a town in Portugal"; "" for just the placeholder). `organisations`: employers,
    schools, clubs.
    """

    people: tuple[tuple[str, ...], ...] = ()
    places: dict[str, str] = msgspec.field(default_factory=dict)
    organisations: tuple[str, ...] = ()


def read_known(path: Path) -> Known:
    """`{"people": [["Ana Silva", "Annie"]], "places": {"Faro": "a town"}, "organisations": []}`.

    Raises DataError naming the file where it is not that.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Known)
    except FileNotFoundError:
        raise DataError(f"{path} is not there; it should list the names to mask") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: {error}; expected people (lists of names), places and organisations"
        ) from error


def normal(text: str) -> str:
    """NFC and without invisible marks, in which one name could be spelt in two ways."""
    return UNSEEN.sub("", unicodedata.normalize("NFC", text))


def forms(known: Known) -> list[Form]:
    """Every way in which what is known may be written.

    Parts of a person's name that two people share count as somebody of their own.
    """
    found: list[Form] = []
    owners: dict[str, set[str]] = {}
    for number, person in enumerate(known.people):
        for name in filter(None, (normal(one).strip() for one in person)):
            found.append(Form(name, "PERSON", f"known {number}"))
            for part in name.split():
                if _tells(part) and part != name:
                    owners.setdefault(part.casefold(), set()).add(f"known {number}")
                    found.append(Form(part, "PERSON", f"known {number}"))
    whole = {form.text.casefold(): form.key for form in found if " " in form.text}
    shared = {part for part, of in owners.items() if len(of) > 1 and part not in whole}
    found = [
        form._replace(key=f"shared {form.text.casefold()}")
        if form.text.casefold() in shared
        else form
        for form in found
    ]
    for place, instead in known.places.items():
        found.append(
            Form(normal(place).strip(), "PLACE", normal(place).casefold(), instead=instead)
        )
    for name in known.organisations:
        found.append(Form(normal(name).strip(), "ORGANISATION", normal(name).casefold()))
    return [form for form in found if not is_blank(form.text)]


def _tells(part: str) -> bool:
    """Whether a part of a name says who it is: initials and particles don't."""
    letters = part.strip(".'’-")
    short = len(letters) < 2 and not _unspaced(letters[:1])
    return not short and letters.casefold() not in PARTICLES


def find_forms(text: str, wanted: Iterable[Form]) -> Iterator[Span]:
    """Where a (normal) text holds one of the forms as a whole word; possessive endings stay.

    Spans may overlap: a whole name and its parts are both found.
    """
    for form in wanted:
        for match in _written(form.text).finditer(text):
            if _whole(text, *match.span()) and _as_a_name(match.group(), form.text):
                yield Span(*match.span(), form.type, form.key, form.source, form.instead)


@cache
def _written(name: str) -> re.Pattern[str]:
    """A name as a pattern: any white space between its words, either apostrophe."""
    words = [re.sub(r"['’]", "['’]", re.escape(word)) for word in name.split()]
    return re.compile(r"\s+".join(words), re.IGNORECASE)


def _as_a_name(found: str, name: str) -> bool:
    """Ordinary words count only with the capital that they were listed with, or in capitals."""
    return name.casefold() not in ORDINARY or found in (name, name.upper())


def _whole(text: str, start: int, end: int) -> bool:
    """Whether a piece is a word of its own; scripts without spaces have no such edges."""
    if _unspaced(text[start]) or _unspaced(text[end - 1]):
        return True
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before and _inside_word(before)) and not (after and _inside_word(after))


def _inside_word(char: str) -> bool:
    """Letters, marks and digits; an underscore may be Markdown around a name."""
    return unicodedata.category(char)[0] in "LMN"


def _unspaced(char: str) -> bool:
    return unicodedata.name(char, "").startswith(UNSPACED) if char else False
