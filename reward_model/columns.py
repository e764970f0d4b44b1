"""The columns of a file of comparisons: which field each one holds, by name or as told.

`FIELDS` is the documented schema. A JSON key, a Parquet column and the head of a spreadsheet column
are all found the same way: by the field's own name, else by one of its other names, in any case
and with spaces, dashes or underscores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from workbench.errors import DataError, UsageError
from workbench.schema import Record

__all__ = ["FIELDS", "Columns", "Field", "known_names", "resolved"]

Need = Literal["required", "one pair", "optional"]

NUMBERED_MEMORY = re.compile(r"memory_?(\d{1,3})")


class Field(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One field: what it holds, whether a file must have it, how its column may also be called.

    A file needs the "required" ones and one pair of responses: `with_memory` and `without_memory`,
    or `response_a` and `response_b` as displayed. `default` is what an absent or blank optional
    one is taken to be.
    """

    meaning: str
    need: Need = "optional"
    names: tuple[str, ...] = ()
    default: str = ""


FIELDS: dict[str, Field] = {
    "id": Field(
        meaning="unique id of the comparison",
        names=("comparison", "comparison_id", "pair_id", "item_id"),
        default="made from the row's texts, participant and order",
    ),
    "participant": Field(
        meaning="who judged; intervals and folds go by it",
        need="required",
        names=("participant_id", "user", "user_id", "subject", "rater", "annotator", "person"),
    ),
    "query": Field(
        meaning="what the participant had asked",
        need="required",
        names=("question", "prompt", "request"),
    ),
    "memories": Field(
        meaning="a list; or one cell: a JSON list or a memory a line; or memory_1, memory_2, ..",
        need="required",
        names=("retrieved_memories",),
    ),
    "with_memory": Field(
        meaning="the response that was written with the memories",
        need="one pair",
        names=("memory_response", "response_with_memory", "response_memory"),
    ),
    "without_memory": Field(
        meaning="the response that was written without them",
        need="one pair",
        names=(
            *("no_memory", "no_memory_response", "response_without_memory", "response_no_memory"),
        ),
    ),
    "response_a": Field(
        meaning="the response displayed as A", need="one pair", names=("answer_a", "a")
    ),
    "response_b": Field(
        meaning="the response displayed as B", need="one pair", names=("answer_b", "b")
    ),
    "order": Field(
        meaning="memory first or memory second: whether the memory response was shown as A or B",
        need="required",
        names=("displayed_order", "display_order", "memory_side", "memory_position"),
    ),
    "judgment": Field(
        meaning="five points, A much better .. B much better; blank: not judged",
        need="required",
        names=("judgement", "rating", "preference", "choice", "label"),
    ),
    "generator": Field(
        meaning="the model that wrote both", names=("model", "llm"), default="unknown"
    ),
    "regime": Field(
        meaning="conservative, ordinary or aggressive use of memory",
        names=("prompting", "prompting_regime", "memory_regime"),
        default="ordinary",
    ),
    "note": Field(meaning="the participant's words", names=("notes", "comment", "comments")),
    "attention": Field(
        meaning="A or B: the side that an attentive reader must choose; blank: an ordinary item",
        names=("attention_check", "attention_side", "expected"),
    ),
    "repeat_of": Field(
        meaning="id of the comparison that this one shows again", names=("retest_of", "repeats")
    ),
    "shown": Field(
        meaning="ISO 8601 time of display", names=("shown_at", "start_time", "started", "start")
    ),
    "judged": Field(
        meaning="ISO 8601 time of the judgment",
        names=("judged_at", "end_time", "ended", "end", "submitted", "timestamp"),
    ),
    "synthetic": Field(meaning="true where no person judged", default="false"),
}


class Columns(NamedTuple):
    """`homes` is the columns that hold each field (several for memories), `unknown` those that hold
    none, `absent` the optional fields that have none."""

    homes: dict[str, tuple[str, ...]]
    unknown: tuple[str, ...]
    absent: tuple[str, ...]


def known_names(given: Mapping[str, str] | None = None) -> frozenset[str]:
    """Every plain name that a column of a known field can have."""
    own = {name for field, about in FIELDS.items() for name in (field, *about.names)}
    return frozenset(own | {plain(column) for column in (given or {}).values()})


def plain(column: str) -> str:
    """A column's name for comparing: lower case, words joined by underscores."""
    return re.sub(r"[\s_-]+", "_", column.strip().casefold())


def resolved(file: str, columns: Sequence[str], given: Mapping[str, str] | None = None) -> Columns:
    """Where each field is, among the columns of a file. `given` maps a field to its column.

    Raises UsageError for a field or column of `given` that does not exist, and DataError naming
    the file where a required field is missing or two columns could hold one.
    """
    told = dict(given or {})
    _check_told(told, columns)
    homes: dict[str, tuple[str, ...]] = {field: (column,) for field, column in told.items()}
    free = [column for column in columns if column not in told.values()]
    for field, about in FIELDS.items():
        if field not in homes:
            found = _home(file, free, field, about.names)
            homes |= {field: (found,)} if found else {}
    numbered = [one for one in free if NUMBERED_MEMORY.fullmatch(plain(one))]
    if numbered and "memories" in homes:
        raise DataError(f"{file}: both {homes['memories'][0]!r} and {numbered[0]!r} hold memories")
    if numbered:
        homes["memories"] = tuple(sorted(numbered, key=_number))
    _check_needs(file, homes, columns)
    held = {column for home in homes.values() for column in home}
    return Columns(
        homes=homes,
        unknown=tuple(column for column in columns if column not in held),
        absent=tuple(
            name for name, one in FIELDS.items() if one.need == "optional" and name not in homes
        ),
    )


def _number(column: str) -> int:
    match = NUMBERED_MEMORY.fullmatch(plain(column))
    return int(match[1]) if match else 0


def _home(file: str, free: Sequence[str], field: str, others: Sequence[str]) -> str | None:
    """The column of this field's own name, else the only one of its other names."""
    for names in ((field,), others):
        found = [column for column in free if plain(column) in names]
        if len(found) > 1:
            raise DataError(
                f"{file}: the columns {', '.join(map(repr, found))} could all be {field}; "
                f"say which, such as columns={{{field!r}: {found[0]!r}}}"
            )
        if found:
            return found[0]
    return None


def _check_told(told: Mapping[str, str], columns: Sequence[str]) -> None:
    for field, column in told.items():
        if field not in FIELDS:
            raise UsageError(f"no field is called {field!r}; there are {', '.join(FIELDS)}")
        if column not in columns:
            raise UsageError(
                f"no column is called {column!r}; there are {', '.join(map(repr, columns))}"
            )


def _check_needs(file: str, homes: Mapping[str, object], columns: Sequence[str]) -> None:
    missing = [
        field for field, one in FIELDS.items() if one.need == "required" and field not in homes
    ]
    pairs = (("with_memory", "without_memory"), ("response_a", "response_b"))
    whole = [pair for pair in pairs if all(field in homes for field in pair)]
    if not whole:
        missing.append("with_memory and without_memory (or response_a and response_b)")
    if missing:
        raise DataError(
            f"{file}: no column for {', '.join(missing)}; there are "
            f"{', '.join(map(repr, columns)) or 'no columns'}. Rename them, or say which is which, "
            "such as columns={'participant': 'Prolific ID'}"
        )
