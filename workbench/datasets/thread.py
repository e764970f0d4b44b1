"""The messages of one chat while it is read, each under an id of its own, with what it answers."""

from __future__ import annotations

import msgspec

from workbench.datasets.chats import Place, instant
from workbench.datasets.tree import leaves, newest
from workbench.schema import Turn

__all__ = ["ROOTS", "Thread"]

# What exports write as the parent of a first message.
ROOTS = frozenset({"00000000-0000-0000-0000-000000000000", "00000000-0000-4000-8000-000000000000"})


class Thread:
    """Turns and parents by message id, in the source's order."""

    def __init__(self, chat_id: str, place: Place) -> None:
        self.chat_id = chat_id
        self.place = place
        self.turns: dict[str, Turn] = {}
        self.parents: dict[str, str | None] = {}
        self._stated: dict[str, int] = {}

    @property
    def branches(self) -> bool:
        """Whether several messages answer the same one, or begin the chat anew."""
        return max(self._stated.values(), default=0) > 1

    def key(self, stated: object, position: int) -> str:
        """A message's own id, else its position in the chat."""
        return stated if isinstance(stated, str) and stated else f"{self.chat_id}:{position}"

    def add(self, key: str, turn: Turn | None, parent: object) -> str:
        """File a message, None where it could not be used; returns the id that it is filed under.

        A message that is repeated exactly is skipped, another one with the same id gets a new id.
        """
        place = self.place.message(key)
        if turn is not None and self.turns.get(key) == turn:
            place.log.read()
            place.log.skip(place.where, "repeated message")
            return key
        if key in self.parents:
            key = f"{self.chat_id}:{key}:{len(self.parents) + 1}"
            place.log.repair(place.where, f"its id is taken; now {key}")
        if isinstance(parent, str):
            self._stated[parent] = self._stated.get(parent, 0) + 1
        known = isinstance(parent, str) and parent not in ROOTS
        self.parents[key] = str(parent) if known else None
        if turn is not None:
            self.turns[key] = msgspec.structs.replace(turn, id=key)
        return key

    def newest_leaf(self) -> str | None:
        """The newest message that nothing answers; the last of the source's order among equals."""
        ends = leaves(self.parents)[::-1]
        times = {key: instant(turn.time) for key, turn in self.turns.items() if turn.time}
        return newest(ends, self.parents, times) if ends else None
