"""What a reader sees of a Markdown response: its headings, and its prose sentence by sentence.

CommonMark plus tables, parsed by markdown-it-py. Prose is the text of paragraphs, list items,
headings and table cells, with the text of links. Not prose, and read by no feature:

- code: fenced and indented blocks, code spans, `<pre>`;
- block quotes, and everything in them (headings too): somebody else's words;
- pictures with their alternative text, addresses, HTML tags, comments, scripts and styles.

Headings are ATX (`# Plan`) and setext (underlined) ones with text in them. `#hashtag`, a line in
bold and `<h2>` are none: chat windows show them as text, or not at all.
"""

from __future__ import annotations

import html
import re
import string
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["LONGEST", "Block", "Markup", "Sentence", "read", "words_of"]

Kind = Literal["heading", "text", "item", "cell"]

# Markdown is read to here, some forty pages; of what follows only the words are counted, roughly.
# The parser needs minutes for some texts of five megabytes, and no person reads one.
LONGEST = 100_000

ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")
UNSEEN_HTML = re.compile(r"\s*<(?:script|style|pre|textarea|blockquote|!|\?)", re.IGNORECASE)
LINE_BREAK = re.compile(r"\s*<br\s*/?>", re.IGNORECASE)
END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"')\]”’]))\s+(?=[^a-z\s])|(?<=[。！？])|\n+")
ROUGH_WORD = re.compile(r"[^\W_]\S*")
APART = str.maketrans(
    {"–": " ", "—": " ", "/": " ", "…": " ", "’": "'", "‘": "'", "\u00ad": "", "\u200b": ""}
)
EDGES = string.punctuation + "“”„«»¿¡、。，！？：；（）「」『』《》·•→|"


class Block(NamedTuple):
    """A heading, a paragraph, one paragraph of a list item, or a cell, as it is read."""

    kind: Kind
    text: str


class Sentence(NamedTuple):
    """A sentence with its lower-case words, and the kind of block that it stands in."""

    text: str
    words: tuple[str, ...]
    kind: Kind


@dataclass(frozen=True)
class Markup:
    """A response as it is read. `unread` is what lies beyond `LONGEST` characters."""

    blocks: tuple[Block, ...]
    unread: str = ""

    @property
    def headings(self) -> int:
        return sum(block.kind == "heading" for block in self.blocks)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Sentences that hold at least one word, in reading order."""
        return tuple(
            Sentence(piece.strip(), words, block.kind)
            for block in self.blocks
            for piece in END.split(block.text)
            if (words := words_of(piece))
        )

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The lower-case words of all sentences."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @cached_property
    def length(self) -> int:
        """Words of the visible prose, and of what was left unread."""
        return len(self.words) + (_words_roughly(self.unread) if self.unread else 0)


def read(text: str) -> Markup:
    """The visible prose and headings of a response.

    Any text is read, an empty one to no blocks; none raises. Beyond `LONGEST` characters the
    Markdown is cut at the end of a line where there is one.
    """
    text = _encodable(text)
    cut = len(text)
    if cut > LONGEST:
        line_end = text.rfind("\n", LONGEST // 2, LONGEST)
        cut = line_end if line_end > 0 else LONGEST
    blocks = tuple(block for block in _blocks(_parser().parse(text[:cut])) if block.text)
    return Markup(blocks, text[cut:])


def words_of(text: str) -> tuple[str, ...]:
    """Lower-case words: what stands between spaces, slashes and dashes and holds a letter or digit.

    Scripts that are written without spaces (Han, Kana, Thai ..) count by characters, so that
    lengths compare within a script, not between scripts.
    """
    text = unicodedata.normalize("NFC", _encodable(text)).translate(APART)
    text = ADDRESS.sub(" ", text).lower()
    if not text.isascii():
        text = _unspaced().sub(r" \g<0> ", text)
    stripped = (word.strip(EDGES) for word in text.split())
    return tuple(word for word in stripped if any(map(str.isalnum, word)))


def _encodable(text: str) -> str:
    """The text with "?" for lone surrogates, which stemmers and tokenisers cannot take."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _words_roughly(text: str) -> int:
    """Words of any text in the time of two searches: Markdown is not looked at."""
    return len(_unspaced().findall(text)) + len(ROUGH_WORD.findall(_unspaced().sub(" ", text)))


@cache
def _unspaced() -> re.Pattern[str]:
    from workbench.tokens import UNSPACED  # imports NLTK: seconds, and wanted here only

    return UNSPACED


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _blocks(tokens: list[Token]) -> Iterator[Block]:
    quotes = items = 0
    kind: Kind = "text"
    for token in tokens:
        match token.type:
            case "blockquote_open" | "blockquote_close":
                quotes += token.nesting
            case "list_item_open" | "list_item_close":
                items += token.nesting
            case "heading_open":
                kind = "heading"
            case "th_open" | "td_open":
                kind = "cell"
            case "paragraph_open":
                kind = "item" if items else "text"
            case "inline" if not quotes:
                yield Block(kind, _tidy(_inline(token.children or [])))
            case "html_block" if not quotes and not UNSEEN_HTML.match(token.content):
                yield Block("text", _tidy(html.unescape(TAG.sub(" ", token.content))))
            case _:
                pass  # code, rules, and what opens or closes a table or a list


def _inline(tokens: list[Any]) -> str:
    pieces: list[str] = []
    for token in tokens:
        if token.type in ("text", "text_special"):
            pieces.append(token.content)
        elif token.type == "hardbreak" or LINE_BREAK.match(token.content):
            pieces.append("\n")
        elif token.type in ("softbreak", "code_inline", "image", "html_inline"):
            pieces.append(" ")
    return "".join(pieces)


def _tidy(text: str) -> str:
    """Single spaces and no addresses; line breaks stay."""
    lines = (" ".join(line.split()) for line in ADDRESS.sub(" ", text).split("\n"))
    return "\n".join(line for line in lines if any(map(str.isalnum, line)))
