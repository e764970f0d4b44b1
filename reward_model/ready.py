"""What interfaces show of the reward model, opened where it is kept, made where it is missing.

A set of comparisons, scores of its features, an evaluation, a model: each function returns what the
workspace holds, and else makes and keeps it. The simulated set is the default: everybody has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reward_model.baselines import baseline_rows, rule_baselines
from reward_model.evaluate import KIND, EvaluationPlan, evaluate, identity_of, save_evaluation
from reward_model.fitting import DEFAULT_C, fit_comparisons
from reward_model.loading import ImportReport, load_comparisons
from reward_model.material import gather
from reward_model.model import MemoryAwareRewardModel
from reward_model.offline import OfflineScorer
from reward_model.schema import Comparison, ComparisonSet
from reward_model.scores import (
    Scores,
    load_scores,
    save_scores,
    saved_scores,
    score_comparisons,
)
from reward_model.simulate import SimulationOptions, simulate
from reward_model.store import (
    add_comparisons,
    comparison_sets,
    open_comparisons,
    save_comparisons,
)
from workbench.embedders import open_embedder
from workbench.errors import DataError, WorkspaceError
from workbench.schema import digest_of
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace

__all__ = [
    "SIMULATED",
    "OwnFile",
    "evaluations_of",
    "offline_scorer",
    "own_file",
    "practice_pairs",
    "ready_evaluation",
    "ready_model",
    "ready_scores",
    "ready_set",
    "scorers_of",
    "set_names",
]

SIMULATED = "simulated"
PRACTICE_SEED = 20

Progress = Callable[[str, int, int], None]


class OwnFile(NamedTuple):
    """A file of judgments after its import: the set that holds them, and the import's report."""

    chosen: ComparisonSet
    report: ImportReport


def set_names(workspace: Workspace) -> list[str]:
    """The sets that can be looked at: the workspace's, and the simulated one, which can be made."""
    return list(dict.fromkeys([*comparison_sets(workspace), SIMULATED]))


def ready_set(workspace: Workspace, name: str) -> ComparisonSet:
    """A set of comparisons; the simulated one is made, with its planned features, where missing.

    Raises UsageError as `open_comparisons`, and WorkspaceError where it would have to be made in a
    workspace that is only read.
    """
    if name != SIMULATED or name in comparison_sets(workspace):
        return open_comparisons(workspace, name)
    if workspace.read_only:
        raise WorkspaceError(
            "no judgments are simulated yet, and the workspace is open for reading only; first: "
            "workbench reward simulate"
        )
    made = simulate(SimulationOptions())
    kept = save_comparisons(workspace, SIMULATED, made.comparisons, "workbench reward simulate")
    save_scores(workspace, made.scores(kept.content))
    return kept


def scorers_of(workspace: Workspace, chosen: ComparisonSet) -> dict[str, dict[str, Any]]:
    """Whose scores of a set are kept: ids with the scorers' identities, the newest of each name
    that is not another model's, oldest first."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, one in saved_scores(workspace).items():
        if one["content"] == chosen.content:
            scorer = {key: value for key, value in one["scorer"].items() if key != "version"}
            found[digest_of(scorer)] = name, one["scorer"]
    return dict(found.values())


def offline_scorer(
    workspace: Workspace, embedder: str = "minilm", progress: Progress | None = None
) -> OfflineScorer:
    """The scorer that needs no model of language, its vectors kept in the workspace."""
    cache = VectorCache(workspace.folder("cache"), workspace.read_only)
    tell = None if progress is None else lambda done, total: progress("reading", done, total)
    return OfflineScorer(open_embedder(embedder), cache, tell)


def ready_scores(
    workspace: Workspace,
    chosen: ComparisonSet,
    scorer: str | None = None,
    progress: Progress | None = None,
) -> Scores:
    """The scores of a set by a scorer (a name, or an id of scores); None: the newest there are.

    Where there are none at all, or none by the scorer "offline", it scores them.
    """
    known = scorers_of(workspace, chosen)
    if scorer is None and known:
        return load_scores(workspace, chosen.content, list(known)[-1])
    if scorer not in (None, "offline") or any(one["name"] == scorer for one in known.values()):
        return load_scores(workspace, chosen.content, scorer)
    scores = score_comparisons(chosen, offline_scorer(workspace, progress=progress))
    save_scores(workspace, scores)
    return scores


def evaluations_of(workspace: Workspace, chosen: ComparisonSet) -> dict[str, dict[str, Any]]:
    """Manifests of the evaluations of exactly these comparisons by id, oldest first."""
    return {
        name: manifest
        for name, manifest in workspace.manifests("runs").items()
        if manifest["kind"] == KIND and manifest["identity"]["content"] == chosen.content
    }


def ready_evaluation(
    workspace: Workspace,
    chosen: ComparisonSet,
    scores: Scores,
    plan: EvaluationPlan | None = None,
    progress: Progress | None = None,
) -> str:
    """The id of the evaluation with this plan, with the baselines that need no model of language.

    An evaluation that further baselines were added to counts as well. Errors as `evaluate`'s.
    """
    plan = plan or EvaluationPlan()
    wanted = digest_of(identity_of(chosen, scores, plan))
    for name, manifest in reversed(evaluations_of(workspace, chosen).items()):
        own = {key: one for key, one in manifest["identity"].items() if key != "baselines"}
        if digest_of(own) == wanted:
            return name
    found = evaluate(chosen, scores, plan, progress)
    rules = rule_baselines(chosen, scores, plan)
    rows = baseline_rows(gather(chosen, scores, plan).fitted, rules)
    return save_evaluation(workspace, found, rows)


def ready_model(
    chosen: ComparisonSet, scores: Scores, manifest: dict[str, Any]
) -> MemoryAwareRewardModel:
    """The model that belongs to an evaluation: fitted to all that the evaluation fitted, with the C
    that its folds chose most often. It is not kept: fitting takes less than a second."""
    plan = msgspec.convert(manifest["identity"]["plan"], EvaluationPlan)
    shrunken = manifest["report"]["shrunken"]
    cost = DEFAULT_C if shrunken is None else shrunken["coefficients_fit"]["C"]
    return fit_comparisons(chosen, scores, plan, cost)


def own_file(workspace: Workspace, path: Path, name: str = "") -> OwnFile:
    """Judgments of a file as the set `name` ("": the file's), which they are added to where it
    exists: the same file again adds nothing.

    Raises DataError where no row of the file is a comparison, and as `load_comparisons`.
    """
    read, report = load_comparisons(path)
    if not read:
        said = "; ".join(f"line {one.line}: {one.reason}" for one in report.refused[:3])
        raise DataError(f"{path}: none of its {report.rows} rows is a comparison ({said})")
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name or path.stem).strip("-._")[:64] or "judgments"
    return OwnFile(add_comparisons(workspace, plain, read, source=path.name).held, report)


def practice_pairs(participant: str, number: int = 12) -> tuple[Comparison, ...]:
    """Made-up pairs without judgments, for trying how it is to judge; marked as synthetic."""
    options = SimulationOptions(
        participants=1, comparisons=number, retest=0, attention=0, seed=PRACTICE_SEED
    )
    blank = {"judgment": None, "shown": None, "judged": None, "participant": participant}
    return tuple(
        msgspec.structs.replace(one, id=f"{participant}/practice-{place:02}", **blank)
        for place, one in enumerate(simulate(options).comparisons, start=1)
    )
