"""Rubrics that were induced from judgments: what they hold, where they came from, their scores.

A rubric belongs to one outer fold: it was made from that fold's training participants, and says
from which (paper, section on rubric induction). Without a language model there is a stand-in, the
paper's twelve features, which calls itself that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from reward_model.judge_scorer import PACKAGE, Criterion, compared_grades
from reward_model.rubric import RUBRIC
from reward_model.schema import Comparison, Pair
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.llm import LLM
from workbench.prompting import prompt, quoted
from workbench.replies import Exchange
from workbench.schema import Record, digest_of, encode_jsonl
from workbench.workspace import Workspace, verify_folder

__all__ = [
    "Dimension",
    "InducedRubric",
    "InducedScorer",
    "Proposal",
    "Provenance",
    "fixed_rubric",
    "induced_matrix",
    "load_rubric",
    "save_rubric",
]

KIND = "rubrics"
STAND_IN = (
    "offline stand-in: the paper's twelve features for every fold. Nothing was induced, and these "
    "features were published with knowledge of the paper's own judgments, not of these"
)


class Proposal(Record, frozen=True, kw_only=True):
    """One proposed dimension: `id` is "P01" and so on, `reading` the pass (from 1) it is from."""

    id: str
    reading: int
    title: str
    definition: str


class Dimension(Record, frozen=True, kw_only=True):
    """A dimension of a canonical rubric. `title` and `definition` are a model's words: data.

    `memory` is the label given at induction: memory-dependent, or not. `proposals` are the ids of
    those that it was made from.
    """

    name: str
    title: str
    definition: str
    memory: bool
    proposals: tuple[str, ...] = ()


class Provenance(Record, frozen=True, kw_only=True):
    """What a rubric was made from: fold, seed, participants on both sides, the comparisons that
    each pass read, the digest of the training comparisons, model, prompts (digests), what failed
    or was left out (kind -> number), and what a reader must know."""

    fold: str
    seed: int
    training: tuple[str, ...]
    held_out: tuple[str, ...]
    content: str
    passes: tuple[tuple[str, ...], ...] = ()
    model: dict[str, Any] = msgspec.field(default_factory=dict)
    prompts: dict[str, str] = msgspec.field(default_factory=dict)
    failed: dict[str, int] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()


class InducedRubric(Record, frozen=True, kw_only=True):
    """The canonical rubric of one outer fold. `id` is the digest of all of it."""

    source: Literal["induced", "fixed"]
    dimensions: tuple[Dimension, ...]
    provenance: Provenance
    proposals: tuple[Proposal, ...] = ()

    @property
    def id(self) -> str:
        return digest_of(self)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dimension.name for dimension in self.dimensions)


class InducedScorer:
    """Grades pairs on an induced rubric's dimensions, as `JudgeScorer` does on the fixed ones: a
    prompt a dimension, both orders, so that exchanging the responses flips every sign.

    Raises UsageError for the stand-in, whose features have scorers of their own.
    """

    def __init__(self, llm: LLM, rubric: InducedRubric, tries: int = 2) -> None:
        if rubric.source != "induced":
            raise UsageError(
                "this rubric is the offline stand-in: score its features with OfflineScorer or "
                "JudgeScorer"
            )
        self.llm = llm
        self.rubric = rubric
        self.tries = tries
        self.failed: dict[str, int] = {}
        self.exchanges: dict[str, list[Exchange]] = {}

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "name": "induced",
            "model": self.llm.identity,
            "rubric": self.rubric.id,
            "prompts": {one.name: digest_of(_criterion(one).system) for one in self._all},
            "orders": "both, averaged",
            "tries": self.tries,
        }

    @property
    def _all(self) -> tuple[Dimension, ...]:
        return self.rubric.dimensions

    def scores(
        self, pairs: Sequence[Pair], features: Sequence[str] = ()
    ) -> dict[str, list[float | None]]:
        """For each dimension (all where none is named) a value in [-1, 1] for each pair, or None.

        Raises UsageError for a name that the rubric lacks.
        """
        known = {one.name: one for one in self._all}
        wanted = tuple(features) or self.rubric.names
        if strangers := [name for name in wanted if name not in known]:
            raise UsageError(
                f"rubric {self.rubric.id} has no dimension {', '.join(strangers)}; it has "
                f"{', '.join(known)}"
            )
        found = {}
        for name in wanted:
            graded = compared_grades(self.llm, pairs, _criterion(known[name]), self.tries)
            for kind, count in graded.failed.items():
                key = f"{name}: {kind}"
                self.failed[key] = self.failed.get(key, 0) + count
            self.exchanges[name] = [*self.exchanges.get(name, []), *graded.exchanges]
            found[name] = graded.values
        return found


def induced_matrix(
    scorer: InducedScorer, comparisons: Sequence[Comparison]
) -> tuple[npt.NDArray[np.float64], tuple[Comparison, ...], dict[str, tuple[str, ...]]]:
    """X (n, d) over the rubric's dimensions, the n comparisons kept, and ids of the rest by reason.

    What a model is fitted on: the fold's training comparisons, then its held-out ones.
    """
    scored = scorer.scores([one.pair for one in comparisons])
    names = scorer.rubric.names
    rows, kept = [], []
    dropped: dict[str, list[str]] = {}
    for place, comparison in enumerate(comparisons):
        row = [scored[name][place] for name in names]
        missing = [name for name, value in zip(names, row, strict=True) if value is None]
        if missing:
            dropped.setdefault(f"not scored: {', '.join(missing)}", []).append(comparison.id)
        else:
            rows.append(row)
            kept.append(comparison)
    x = np.array(rows, np.float64).reshape(len(rows), len(names))
    return x, tuple(kept), {reason: tuple(ids) for reason, ids in dropped.items()}


def fixed_rubric(provenance: Provenance) -> InducedRubric:
    """The stand-in where there is no language model: the paper's twelve features, said to be so."""
    dimensions = tuple(
        Dimension(name=one.name, title=one.title, definition=one.definition, memory=one.memory)
        for one in RUBRIC.values()
    )
    noted = msgspec.structs.replace(provenance, notes=(*provenance.notes, STAND_IN))
    return InducedRubric(source="fixed", dimensions=dimensions, provenance=noted)


def save_rubric(
    workspace: Workspace, rubric: InducedRubric, exchanges: Sequence[Exchange] = ()
) -> str:
    """Keep a rubric (`rubrics/ID/rubric.json`) with every request and reply behind it
    (`replies.jsonl`: people's texts are in there), and return its id."""
    manifest = {
        "id": rubric.id,
        "source": rubric.source,
        "fold": rubric.provenance.fold,
        "seed": rubric.provenance.seed,
        "model": rubric.provenance.model,
        "dimensions": dict(Counter("memory" if d.memory else "other" for d in rubric.dimensions)),
        "failed": rubric.provenance.failed,
    }
    files = {
        "rubric.json": msgspec.json.format(msgspec.json.encode(rubric)),
        "replies.jsonl": b"".join(encode_jsonl(one.record for one in exchanges)),
    }
    with workspace.lock(f"rubric-{rubric.id}"):
        workspace.publish(KIND, rubric.id, dict(files), manifest)
    return rubric.id


def load_rubric(workspace: Workspace, name: str) -> InducedRubric:
    """A rubric by its id or an unambiguous beginning of it.

    Raises UsageError where there is none or several, WorkspaceError where it is damaged.
    """
    known = [key for key in workspace.manifests(KIND) if name and key.startswith(name)]
    if len(known) != 1:
        what = "several rubrics" if known else "no rubric"
        raise UsageError(f"{what} {name!r} in {workspace.root}; name one by its id")
    folder = workspace.folder(KIND, known[0])
    if damaged := verify_folder(folder):
        raise WorkspaceError(f"rubric {known[0]} is damaged ({', '.join(damaged)}); make it again")
    try:
        return msgspec.json.decode((folder / "rubric.json").read_bytes(), type=InducedRubric)
    except msgspec.DecodeError as error:
        raise DataError(f"{folder / 'rubric.json'}: {error}; make the rubric again") from error


def _criterion(dimension: Dimension) -> Criterion:
    described = quoted(f"{dimension.title}: {dimension.definition}", "dimension")
    text = prompt("score_induced", PACKAGE).filled(dimension=described)
    return Criterion(name=dimension.name, text=text, memories=dimension.memory)
