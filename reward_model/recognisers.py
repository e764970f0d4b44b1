"""Presidio's recognisers that need neither a language model nor the network.

They find what has a form: e-mail addresses, telephone, card and account numbers, addresses of
machines, national identity numbers. Names have none, so Presidio finds no name here. Presidio is
an extra, and slow to import (seconds): it is loaded with the first text that may need it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from reward_model.known_names import Span, SpanType
from workbench.errors import ModelError

__all__ = ["SELF_CONTAINED", "recognised", "require_presidio"]

SELF_CONTAINED = (
    *("PhoneRecognizer", "IpRecognizer", "IbanRecognizer", "CreditCardRecognizer"),
    *("CryptoRecognizer", "MacAddressRecognizer", "UuidRecognizer", "UsSsnRecognizer"),
    *("UkNinoRecognizer", "NhsRecognizer"),
)
TYPES: dict[str, SpanType] = {"EMAIL_ADDRESS": "EMAIL", "PHONE_NUMBER": "PHONE"}
LEAST_SCORE = 0.4
# What none of them can find anything in is not shown to them: most lines of a text.
WORTH_A_LOOK = re.compile(r"@|(?:\d\D{0,3}){6}|[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}")
LINE = re.compile(r"[^\n]+")


def require_presidio() -> None:
    """Raises ModelError with the install command where Presidio is not installed."""
    if find_spec("presidio_analyzer") is None:
        raise ModelError(
            "de-identification needs Presidio: pip install 'recall-workbench[privacy]'"
        )


def recognised(text: str) -> Iterator[Span]:
    """What Presidio's recognisers find in a text with a score of at least 0.4."""
    for line in LINE.finditer(text):
        if not WORTH_A_LOOK.search(line.group()):
            continue
        for recogniser in _recognisers():
            for found in recogniser.analyze(line.group(), recogniser.supported_entities, None):
                if found.score >= LEAST_SCORE:
                    piece = line.group()[found.start : found.end]
                    kind = TYPES.get(found.entity_type, "NUMBER")
                    start = line.start() + found.start
                    yield Span(start, start + len(piece), kind, _key(piece, kind), "Presidio")


def _key(piece: str, kind: SpanType) -> str:
    """The same address or number in another spelling is the same thing."""
    return piece.casefold() if kind == "EMAIL" else re.sub(r"[\W_]", "", piece).casefold()


@cache
def _recognisers() -> tuple[Any, ...]:
    require_presidio()
    from presidio_analyzer import PatternRecognizer, predefined_recognizers

    # Presidio's own e-mail recogniser looks top-level domains up on the network.
    email = PatternRecognizer(
        supported_entity="EMAIL_ADDRESS", patterns=predefined_recognizers.EmailRecognizer.PATTERNS
    )
    return (email, *(getattr(predefined_recognizers, name)() for name in SELF_CONTAINED))
