"""Collecting one participant's judgments: blinded pairs out, judgments in, nothing lost or doubled.

A page gets `Card`s: two texts as A and B and nothing that tells which is which. Each display of a
card has a token, and a judgment counts once per token, so a double click, a reloaded page or a
second tab adds nothing. Whatever is taken back or replaced is a further row; every row stays.
Times are those of the machine that keeps the judgments, never of the page.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from reward_model.collection_plan import Item, Plan
from reward_model.judgment_log import Act, JudgmentLog, Row, in_force
from reward_model.schema import JUDGMENTS, Comparison, Judgment
from workbench.errors import UsageError
from workbench.schema import Record

__all__ = ["Card", "Collected", "Collection", "Progress"]

NOTE_CHARACTERS = 4000


class Card(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the participant sees: nothing of the memories, the generator, the kind of item, or which
    response was written with memories. `number` counts from 1 to `of`."""

    item: str
    token: str
    number: int
    of: int
    query: str
    a: str
    b: str


class Progress(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How far a participant is. `changed` counts judgments that were taken back or replaced."""

    items: int
    judged: int
    left: int
    changed: int


class Collected(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Judged comparisons in the order of the plan, and the ids that are left out, by reason."""

    comparisons: tuple[Comparison, ...]
    left_out: dict[str, tuple[str, ...]]


class Collection:
    """One participant's plan and judgments; several processes may use it at once."""

    def __init__(
        self,
        plan: Plan,
        log: JudgmentLog,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.plan = plan
        self.log = log
        self.clock = clock
        self._items = {item.id: item for item in plan.items}

    def draw(self) -> Card | None:
        """The next card, and a record that it is shown; None where everything is judged.

        After a crash, or in a second tab, this is the same item again under another token. A page
        keeps its card until it is judged: the time of judging counts from the drawing.
        """
        with self.log.writing() as (rows, append):
            done = in_force(rows)
            item = next((one for one in self.plan.items if one.id not in done), None)
            return None if item is None else self._shown(item, append)

    def reopen(self, item: str) -> Card:
        """The card of an item that is judged already, to judge it anew with `replace`."""
        with self.log.writing() as (rows, append):
            if self._item(item).id not in in_force(rows):
                raise UsageError(f"{item} is not judged; draw it")
            return self._shown(self._item(item), append)

    def judge(
        self, item: str, token: str, judgment: Judgment, note: str = "", replace: bool = False
    ) -> Row:
        """Record a judgment for a shown card and return the row that counts.

        The same item and token again change nothing, whatever they say: the first click counts.
        Raises UsageError for an unknown item, token or judgment, and for an item that was judged
        meanwhile (in another tab), unless it is to be replaced.
        """
        self._item(item)
        if judgment not in JUDGMENTS:
            raise UsageError(f"{judgment!r} is no judgment; it is one of: {', '.join(JUDGMENTS)}")
        if len(note) > NOTE_CHARACTERS:
            raise UsageError(f"note: {len(note):,} characters; at most {NOTE_CHARACTERS:,}")
        with self.log.writing() as (rows, append):
            earlier = _row(rows, "judged", item, token)
            if earlier is not None:
                return earlier
            if _row(rows, "shown", item, token) is None:
                raise UsageError(f"{item} was not shown under this token; draw it again")
            if item in in_force(rows) and not replace:
                raise UsageError(
                    f"{item} is judged already, perhaps in another tab; draw the next, or reopen "
                    "it to replace the judgment"
                )
            append(self._new("judged", item, token, judgment, note))
            return rows[-1]

    def undo(self, item: str, token: str) -> Row:
        """Take back the judgment that was given under this token; the item will be drawn again.

        Raises UsageError where there is none that counts; taking the same one back twice is once.
        """
        self._item(item)
        with self.log.writing() as (rows, append):
            earlier = _row(rows, "undone", item, token)
            if earlier is not None:
                return earlier
            held = in_force(rows).get(item)
            if held is None or held.token != token:
                raise UsageError(f"{item} has no judgment of this token to take back")
            append(self._new("undone", item, token))
            return rows[-1]

    def last(self) -> Row | None:
        """The judgment that was given last and still counts: what an undo button takes back."""
        return max(in_force(self.log.rows()).values(), key=lambda row: row.n, default=None)

    def progress(self) -> Progress:
        rows = self.log.rows()
        done = len(in_force(rows))
        given = sum(row.act == "judged" for row in rows)
        total = len(self.plan.items)
        return Progress(items=total, judged=done, left=total - done, changed=given - done)

    def collected(self) -> Collected:
        """The judgments as comparisons. A repeat counts only beside the judgment it repeats."""
        rows = self.log.rows()
        held = in_force(rows)
        judged = {one.comparison.id for one in self.plan.items if one.id in held}
        kept: list[Comparison] = []
        left_out: dict[str, list[str]] = {}
        for one in self.plan.items:
            row, comparison = held.get(one.id), one.comparison
            if row is None:
                left_out.setdefault("not judged yet", []).append(comparison.id)
            elif comparison.repeat_of is not None and comparison.repeat_of not in judged:
                left_out.setdefault("repeats what is not judged", []).append(comparison.id)
            else:
                kept.append(_judged(comparison, row, rows))
        return Collected(
            comparisons=tuple(kept),
            left_out={reason: tuple(ids) for reason, ids in left_out.items()},
        )

    def _item(self, id: str) -> Item:
        if id not in self._items:
            raise UsageError(f"there is no item {id!r} in this collection")
        return self._items[id]

    def _shown(self, item: Item, append: Callable[[Row], None]) -> Card:
        token = secrets.token_hex(8)
        append(self._new("shown", item.id, token))
        one = item.comparison
        first = one.order == "memory first"
        return Card(
            item=item.id,
            token=token,
            number=self.plan.items.index(item) + 1,
            of=len(self.plan.items),
            query=one.query,
            a=one.with_memory if first else one.without_memory,
            b=one.without_memory if first else one.with_memory,
        )

    def _new(
        self, act: Act, item: str, token: str, judgment: Judgment | None = None, note: str = ""
    ) -> Row:
        at = self.clock()
        return Row(n=0, act=act, item=item, token=token, at=at, judgment=judgment, note=note)


def _row(rows: Sequence[Row], act: Act, item: str, token: str) -> Row | None:
    """The first row of this kind for a display of an item."""
    wanted = (act, item, token)
    return next((row for row in rows if (row.act, row.item, row.token) == wanted), None)


def _judged(comparison: Comparison, row: Row, rows: Sequence[Row]) -> Comparison:
    shown = _row(rows, "shown", row.item, row.token)
    return msgspec.structs.replace(
        comparison,
        judgment=row.judgment,
        note=row.note,
        shown=shown.at if shown is not None else None,
        judged=row.at,
    )
