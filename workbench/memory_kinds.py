"""The name that opens one particular set of memories."""

from __future__ import annotations

from workbench.library import MADE, by_model

__all__ = ["set_named"]


def set_named(memories: str, banks: str) -> str:
    """The kind of memory that opens the set with the id `banks`, or its beginning: of the sets that
    language models made there may be several, each of the others is the only one.

    >>> set_named("turns", "c0ffee"), set_named("llm", "c0ffee")
    ('turns', 'llm@c0ffee')
    """
    return f"{MADE}@{banks}" if banks and by_model(memories) else memories
