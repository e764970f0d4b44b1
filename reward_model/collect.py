"""Collections in a workspace: one plan and one record of judgments a participant.

    collections/NAME/DIGEST/plan.json          what is shown, drawn once (`collection_plan`)
    collections/NAME/DIGEST/judgments.jsonl    what happened (`judgment_log`)

DIGEST is made from the participant's id, which is data and names no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reward_model.collection import Card, Collected, Collection, Progress
from reward_model.collection_plan import Item, Plan, PlanOptions, draw_plan
from reward_model.judgment_log import JudgmentLog, Row
from reward_model.schema import Comparison, ComparisonSet
from reward_model.store import save_comparisons
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.schema import digest_of
from workbench.workspace import Workspace, check_name, remove_folder, write_atomically

if TYPE_CHECKING:
    from reward_model.known_names import Known
    from reward_model.privacy import Deidentified

__all__ = [
    "Card",
    "Collected",
    "Collection",
    "Item",
    "Plan",
    "PlanOptions",
    "Progress",
    "Row",
    "collected",
    "collections",
    "discard",
    "everybody",
    "export",
    "export_deidentified",
    "open_collection",
    "participants",
    "start",
]

KIND = "collections"
DEFAULT_OPTIONS = PlanOptions()

Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


def start(
    workspace: Workspace,
    name: str,
    participant: str,
    candidates: Sequence[Comparison],
    options: PlanOptions = DEFAULT_OPTIONS,
) -> Collection:
    """Draw a participant's plan in the collection `name`, or go on with the same one.

    Raises UsageError where this participant has another plan there already, and as `draw_plan`.
    """
    plan = draw_plan(participant, candidates, options)
    folder = _folder(workspace, name, participant)
    with workspace.lock(_lock(name, participant)):
        held = _plan(folder)
        if held is None:
            write_atomically(folder / "plan.json", msgspec.json.encode(plan))
        elif held != plan:
            raise UsageError(
                f"{participant!r} has a plan of {len(held.items)} other items in {name}; open it, "
                "discard it with its judgments, or name another collection"
            )
    return open_collection(workspace, name, participant)


def open_collection(
    workspace: Workspace, name: str, participant: str, clock: Clock = _now
) -> Collection:
    """A participant's collection, where it was left.

    Raises UsageError where there is none, WorkspaceError where its plan is damaged.
    """
    folder = _folder(workspace, name, participant)
    plan = _plan(folder)
    if plan is None:
        known = ", ".join(participants(workspace, name)) or "nobody yet"
        raise UsageError(f"{name} has no plan for {participant!r} (there: {known}); start one")
    log = JudgmentLog(workspace, folder / "judgments.jsonl", _lock(name, participant))
    return Collection(plan, log, clock)


def collections(workspace: Workspace) -> dict[str, dict[str, int]]:
    """Collections by name: how many participants, items and judgments each has."""
    parent = workspace.folder(KIND)
    found = {}
    for folder in sorted(parent.iterdir()) if parent.is_dir() else ():
        people = participants(workspace, folder.name)
        if people:
            found[folder.name] = {
                "participants": len(people),
                "items": sum(one.items for one in people.values()),
                "judged": sum(one.judged for one in people.values()),
            }
    return found


def participants(workspace: Workspace, name: str) -> dict[str, Progress]:
    """The participants of a collection, and how far each is."""
    paths = sorted(workspace.folder(KIND, name).glob("*/plan.json"))
    people = sorted(plan.participant for path in paths if (plan := _plan(path.parent)) is not None)
    return {one: open_collection(workspace, name, one).progress() for one in people}


def everybody(workspace: Workspace) -> tuple[str, ...]:
    """Who takes part in any collection here, by name in order."""
    paths = workspace.folder(KIND).glob("*/*/plan.json")
    plans = (_plan(path.parent) for path in paths)
    return tuple(sorted({plan.participant for plan in plans if plan is not None}))


def collected(workspace: Workspace, name: str) -> Collected:
    """Every participant's judged comparisons, and what is left out, by reason.

    Raises DataError where two participants' candidates have the same id.
    """
    kept: list[Comparison] = []
    left_out: dict[str, tuple[str, ...]] = {}
    for person in participants(workspace, name):
        own = open_collection(workspace, name, person).collected()
        kept += own.comparisons
        for reason, ids in own.left_out.items():
            left_out[reason] = (*left_out.get(reason, ()), *ids)
    owners: dict[str, str] = {}
    for one in kept:
        if owners.setdefault(one.id, one.participant) != one.participant:
            raise DataError(
                f"{name}: {one.id!r} is a comparison of {owners[one.id]!r} and of "
                f"{one.participant!r}; give every comparison an id of its own"
            )
    return Collected(comparisons=tuple(kept), left_out=left_out)


def export(workspace: Workspace, name: str, into: str) -> ComparisonSet:
    """Keep a collection's judgments as the comparison set `into`, with all names in it.

    Raises DataError where nothing is judged yet.
    """
    return save_comparisons(workspace, into, _some(workspace, name), source=f"collection {name}")


def export_deidentified(
    workspace: Workspace, name: str, into: str, known: Mapping[str, Known] | None = None
) -> tuple[ComparisonSet | None, Deidentified]:
    """Keep a de-identified copy as the comparison set `into`, and return what was done.

    The set is None where every comparison had to be withheld; nothing is kept then.
    """
    from reward_model.privacy import deidentify

    done = deidentify(_some(workspace, name), known)
    if not done.comparisons:
        return None, done
    source = "collection, de-identified"
    return save_comparisons(workspace, into, done.comparisons, source=source), done


def discard(workspace: Workspace, name: str, participant: str) -> None:
    """Remove a participant's plan and judgments from a collection (they withdraw).

    What was exported before stays where it was exported to.
    """
    with workspace.lock(_lock(name, participant)):
        remove_folder(_folder(workspace, name, participant))


def _some(workspace: Workspace, name: str) -> tuple[Comparison, ...]:
    found = collected(workspace, name).comparisons
    if not found:
        raise DataError(f"collection {name}: nothing is judged yet, so there is nothing to export")
    return found


def _plan(folder: Path) -> Plan | None:
    path = folder / "plan.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise WorkspaceError(
            f"{path}: {error}; restore the file: judgments mean nothing without their plan"
        ) from error


def _folder(workspace: Workspace, name: str, participant: str) -> Path:
    return workspace.folder(KIND, name) / digest_of(participant)


def _lock(name: str, participant: str) -> str:
    return f"collection-{digest_of([check_name(name), participant])}"
