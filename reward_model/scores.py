"""Feature scores of a set of comparisons: made by one scorer, saved with its name, never mixed.

    scores/ID/scores.parquet     comparison + the twelve features, null where not scored
    scores/ID/manifest.json      content (of the comparisons), scorer, failed, n

`ID` is the digest of the comparisons' content, the scorer's identity and the rules of the text
features, so scores of other texts or another scorer are another folder. No text is in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from reward_model.phrases import rules_version
from reward_model.rubric import RUBRIC, SCORED, Scorer
from reward_model.schema import Comparison, ComparisonSet
from reward_model.store import comparison_sets, open_comparisons
from reward_model.text_features import text_scores
from workbench.errors import DataError, ModelError, UsageError, WorkspaceError
from workbench.runs import write_parquet
from workbench.schema import digest_of
from workbench.workspace import Workspace, verify_folder

__all__ = [
    "Scores",
    "load_scores",
    "make_scores",
    "matrix",
    "save_scores",
    "saved_scores",
    "score_comparisons",
]

KIND = "scores"
SCHEMA = {"comparison": pl.String} | dict.fromkeys(RUBRIC, pl.Float64)
TEXT_RULES = ("markup", "phrases", "text_features")
Progress = Callable[[int, int], None]


class Scores(NamedTuple):
    """Scores of the comparisons whose digest is `content`, all by one scorer.

    `frame` has the column `comparison` (id) and the features in the order of `RUBRIC`, Float64 and
    null where a feature could not be scored; `failed` counts the reasons.
    """

    id: str
    scorer: dict[str, Any]
    content: str
    frame: pl.DataFrame
    failed: Mapping[str, int] = MappingProxyType({})


def make_scores(
    content: str,
    scorer: dict[str, Any],
    comparisons: Sequence[str],
    columns: Mapping[str, Sequence[float | None]],
    failed: Mapping[str, int] = MappingProxyType({}),
) -> Scores:
    """Scores from columns of values, one for each comparison id, checked.

    `scorer` is an identity with a "name". Raises ModelError where a column is missing or short, or
    a value is NaN or infinite; DataError where an id occurs twice.
    """
    seen: set[str] = set()
    twice = sorted({one for one in comparisons if one in seen or seen.add(one)})  # type: ignore[func-returns-value]
    if twice:
        raise DataError(f"comparison {twice[0]!r} occurs more than once; give each its own id")
    for name in RUBRIC:
        if name not in columns or len(columns[name]) != len(comparisons):
            raise ModelError(
                f"scorer {scorer['name']} gave {len(columns.get(name, ()))} scores of {name} for "
                f"{len(comparisons)} comparisons"
            )
        for one, value in zip(comparisons, columns[name], strict=True):
            if value is not None and not math.isfinite(value):
                raise ModelError(
                    f"scorer {scorer['name']} gave {value} as {name} of comparison {one!r}; a "
                    "score is a finite number, or None where there is none"
                )
    frame = pl.DataFrame(
        {"comparison": list(comparisons)} | {name: list(columns[name]) for name in RUBRIC},
        schema=SCHEMA,
    )
    text = rules_version(*TEXT_RULES)
    name = digest_of({"content": content, "scorer": scorer, "text": text})
    return Scores(name, scorer, content, frame, dict(failed))


def score_comparisons(
    chosen: ComparisonSet, scorer: Scorer, progress: Progress | None = None
) -> Scores:
    """Score every comparison on the twelve features: four from the text, eight by the scorer.

    Repeats of a pair are scored once. `progress` is called with (features done, features).
    Judgments are never seen. Raises ModelError where the scorer returns something else than asked.
    """
    pairs = list(dict.fromkeys(comparison.pair for comparison in chosen.comparisons))
    columns: dict[str, Any] = dict(text_scores(pairs))
    if progress is not None:
        progress(len(columns), len(RUBRIC))
    scored = scorer.scores(pairs, SCORED)
    for name in SCORED:
        if len(scored.get(name, ())) != len(pairs):
            raise ModelError(
                f"scorer {scorer.identity['name']} gave {len(scored.get(name, ()))} scores of "
                f"{name} for {len(pairs)} pairs"
            )
    columns |= scored
    if progress is not None:
        progress(len(RUBRIC), len(RUBRIC))
    row = {pair: place for place, pair in enumerate(pairs)}
    rows = [row[comparison.pair] for comparison in chosen.comparisons]
    return make_scores(
        chosen.content,
        dict(scorer.identity),
        [comparison.id for comparison in chosen.comparisons],
        {name: [columns[name][place] for place in rows] for name in RUBRIC},
        scorer.failed,
    )


def save_scores(workspace: Workspace, scores: Scores) -> str:
    """Keep scores in the workspace, and return their id."""
    manifest = {
        "id": scores.id,
        "content": scores.content,
        "scorer": scores.scorer,
        "failed": dict(scores.failed),
        "n": scores.frame.height,
        "missing": {name: scores.frame[name].null_count() for name in RUBRIC},
    }
    with workspace.lock(f"scores-{scores.id}"):
        files = {"scores.parquet": lambda path: write_parquet(scores.frame, path)}
        workspace.publish(KIND, scores.id, dict(files), manifest)
    return scores.id


def saved_scores(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """The manifests of the kept scores by id, oldest first."""
    return workspace.manifests(KIND)


def load_scores(workspace: Workspace, of: str, scorer_name: str | None = None) -> Scores:
    """The scores of a set of comparisons, given its name or content digest.

    `scorer_name` is a scorer's name or the beginning of a scores id. Of one scorer whose rules
    changed, the newest scores are taken; several scorers (also of one name, with another model)
    are never mixed. Raises UsageError where there are none, or several and none is named;
    WorkspaceError where the files are damaged.
    """
    kept = workspace.manifests(KIND)
    sets = comparison_sets(workspace)
    content = of
    if of in sets or not any(manifest["content"] == of for manifest in kept.values()):
        held = [name for name, facts in sets.items() if facts["content"] == of]
        of = held[0] if held and of not in sets else of
        content = open_comparisons(workspace, of).content
    found = {name: one for name, one in kept.items() if one["content"] == content}
    if scorer_name is not None:
        found = {
            name: one
            for name, one in found.items()
            if one["scorer"]["name"] == scorer_name
            or (scorer_name and name.startswith(scorer_name))
        }
    if not found:
        by = f" by {scorer_name}" if scorer_name else ""
        raise UsageError(
            f"there are no scores of comparisons {of!r}{by}; make them: "
            f"workbench reward features {of}"
        )
    scorers = {digest_of(_without_version(one["scorer"])) for one in found.values()}
    if len(scorers) > 1:
        listed = "; ".join(f"{name}: {_told(one['scorer'])}" for name, one in found.items())
        raise UsageError(f"several scorers scored {of!r} ({listed}); name one, or an id")
    return _read(workspace, *list(found.items())[-1])


def matrix(
    scores: Scores, comparisons: Sequence[Comparison], features: Sequence[str] = tuple(RUBRIC)
) -> tuple[npt.NDArray[np.float64], tuple[Comparison, ...], dict[str, tuple[str, ...]]]:
    """Rows of features, the comparisons that they belong to, and what was dropped and why.

    Returns X (n, d) with columns in the order of `features`, the n kept comparisons in the order
    given, and the ids of the rest by reason ("not scored: PROP, REL", "no scores"). Raises
    UsageError for a feature that the rubric lacks.
    """
    if strangers := [name for name in features if name not in RUBRIC]:
        raise UsageError(f"no feature {', '.join(strangers)}; there are {', '.join(RUBRIC)}")
    values = scores.frame.select(features).rows()
    by_id = dict(zip(scores.frame["comparison"], values, strict=True))
    rows, kept = [], []
    dropped: dict[str, list[str]] = {}
    for comparison in comparisons:
        row = by_id.get(comparison.id)
        missing = [n for n, v in zip(features, row, strict=True) if v is None] if row else []
        if row is None or missing:
            why = "no scores" if row is None else f"not scored: {', '.join(missing)}"
            dropped.setdefault(why, []).append(comparison.id)
        else:
            rows.append(row)
            kept.append(comparison)
    x = np.asarray(rows, np.float64).reshape(len(rows), len(features))
    return x, tuple(kept), {why: tuple(ids) for why, ids in dropped.items()}


def _read(workspace: Workspace, name: str, manifest: dict[str, Any]) -> Scores:
    folder = workspace.folder(KIND, name)
    if damaged := verify_folder(folder):
        raise WorkspaceError(f"scores {name} are damaged ({', '.join(damaged)}); make them again")
    frame = pl.read_parquet(folder / "scores.parquet")
    return Scores(name, manifest["scorer"], manifest["content"], frame, manifest["failed"])


def _without_version(scorer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in scorer.items() if key != "version"}


def _told(scorer: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in scorer.items())
