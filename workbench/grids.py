"""Sweeps over settings other than λ: the layers of the dual path, ablations, control priors.

Their runs hold `frame.parquet` (question, scope, category, metric, value: the whole recipe's, or
for layers its own K_E and K_S, "recall@25+7"), `questions.parquet` (the same for every setting,
with a column `setting`), and
    sweep-layers                    layers.parquet    k_episodic, k_semantic, mean, lo, hi
    sweep-ablation, sweep-controls  settings.parquet  setting, k, mean, lo, hi, n, difference,
                                    difference_lo, difference_hi, p, p_holm: the whole recipe
                                    first, differences from it (null in its own rows)
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import polars as pl

from workbench.cells import Study
from workbench.errors import UsageError
from workbench.lambda_surface import Values
from workbench.schema import Recipe
from workbench.settings import Setting, ablations, controls, verdict
from workbench.stats import holm, interval_matrix, paired_difference
from workbench.surface import RankTable
from workbench.sweep import keep, long_frame

__all__ = ["K_EPISODIC", "K_SEMANTIC", "ablation_sweep", "control_sweep", "layer_sweep"]

K_EPISODIC = (5, 10, 15, 20, 25, 30, 40, 50)
K_SEMANTIC = (0, 1, 3, 5, 7, 10, 15, 20)


def layer_sweep(
    study: Study,
    recipe: Recipe,
    k_episodic: Sequence[int] = K_EPISODIC,
    k_semantic: Sequence[int] = K_SEMANTIC,
) -> dict[str, Any]:
    """Recall of the union of the first K_E episodic and the first K_S semantic memories (Paper A,
    the joint effect of K_E and K_S), for every pair.

    The episodic ranking is the recipe's, whatever its retriever; the semantic one is always
    cos(query, memory). Raises UsageError for a K that cannot be meant.
    """
    began = time.perf_counter()
    recipe, notes = study.ready(recipe)
    rows, columns = sorted(set(k_semantic)), sorted(set(k_episodic))
    if not rows or not columns or rows[0] < 0 or columns[0] < 1:
        raise UsageError("K_E must be at least 1 and K_S at least 0, and each must be given")
    episodic = study.ranks(msgspec.structs.replace(recipe, k=columns[-1]), (recipe.lam,))
    semantic = study.ranks(recipe, (1.0,), semantic=True)
    by_row = {k: joined(episodic, semantic, k).recall(columns)[:, 0] for k in rows}
    flat = np.concatenate(list(by_row.values()), axis=1)
    cells = interval_matrix(flat, study.clusters, level=study.level)
    mean, lo, hi = (part.reshape(len(rows), len(columns)) for part in cells)
    report = {
        "recipe": msgspec.to_builtins(recipe),
        "k_episodic": columns,
        "k_semantic": rows,
        "recall": mean.tolist(),
        "interval": np.stack([lo, hi], axis=-1).tolist(),
        "notes": [*notes, *_without_effect(study, list(by_row.values()))],
    }
    by_name = {f"K_S = {k}": values for k, values in by_row.items()}
    tables = {
        "frame": _own_layers(study, recipe, episodic, semantic),
        "questions": long_frame(study, "setting", by_name, columns),
        "layers": _layers_frame(rows, columns, (mean, lo, hi)),
    }
    identity = {"recipe": recipe, "k_episodic": columns, "k_semantic": rows}
    told = keep(study, "sweep-layers", identity, report, tables)
    return {**told, "seconds": round(time.perf_counter() - began, 3)}


def ablation_sweep(
    study: Study,
    recipe: Recipe,
    ks: Sequence[int] = (25,),
    others: Mapping[str, Study] = MappingProxyType({}),
) -> dict[str, Any]:
    """The recipe without each of its ingredients in turn, each tested against the whole; Holm over
    all rows and Ks. A negative difference says what the ingredient is worth.

    `others` are studies of the same questions in other words ("without GRPO": the untrained
    rewriter's), with the whole recipe. Raises UsageError where there is nothing to take away.
    """
    recipe, notes = study.ready(recipe)
    settings = ablations(recipe, alone=bool(others))
    return _compared(study, "sweep-ablation", settings, ks, {"notes": notes}, others)


def control_sweep(study: Study, recipe: Recipe, ks: Sequence[int] = (25,)) -> dict[str, Any]:
    """The recipe's prior against none, somebody else's, everyone's, a shuffled and a random one,
    at the same λ, each tested; Holm over all rows and Ks. `verdict` says, from the main K, whether
    the gain is personalisation.

    Raises UsageError for a recipe without a prior of its own.
    """
    recipe, notes = study.ready(recipe)
    settings = controls(recipe)
    facts = {"notes": notes, "verdict": ""}
    return _compared(study, "sweep-controls", settings, ks, facts)


def joined(episodic: RankTable, semantic: RankTable, k_semantic: int) -> RankTable:
    """Ranks where what the first K_S semantic memories hold is found whatever K_E is."""
    lent = (semantic.ranks > 0) & (semantic.ranks <= k_semantic)
    return RankTable(np.where(lent, 1, episodic.ranks).astype(np.int32), episodic.counts)


def measured(study: Study, setting: Setting, ks: Sequence[int]) -> Values:
    """(q, k) recall of a setting."""
    recipe = msgspec.structs.replace(setting.recipe, k=max(ks))
    table = study.ranks(recipe, (recipe.lam,))
    if not setting.episodic:
        table = RankTable(np.zeros_like(table.ranks), table.counts)
    if recipe.retriever == "ppro" and recipe.k_semantic:
        table = joined(table, study.ranks(recipe, (1.0,), semantic=True), recipe.k_semantic)
    return table.recall(ks)[:, 0]


def _without_effect(study: Study, by_row: list[Values]) -> list[str]:
    """A remark where every K_S gives the same recall."""
    if len(by_row) < 2 or not all(np.array_equal(one, by_row[0]) for one in by_row):
        return []
    held = sum(map(len, study.banks.semantic.values()))
    return [f"K_S changes nothing here: there are {held:,} semantic memories"]


def _layers_frame(
    rows: list[int], columns: list[int], cells: tuple[Values, Values, Values]
) -> pl.DataFrame:
    """`k_episodic, k_semantic, mean, lo, hi` of cells (K_S, K_E)."""
    mean, lo, hi = (part.ravel() for part in cells)
    pairs = {
        "k_episodic": np.tile(columns, len(rows)),
        "k_semantic": np.repeat(rows, len(columns)),
    }
    return pl.DataFrame({**pairs, "mean": mean, "lo": lo, "hi": hi})


def _own_layers(
    study: Study, recipe: Recipe, episodic: RankTable, semantic: RankTable
) -> pl.DataFrame:
    values = joined(episodic, semantic, recipe.k_semantic).recall([recipe.k])[:, 0]
    frame = long_frame(study, "setting", {"": values}, [recipe.k]).drop("setting")
    return frame.with_columns(metric=pl.lit(f"recall@{recipe.k}+{recipe.k_semantic}"))


def _compared(
    study: Study,
    kind: str,
    settings: list[Setting],
    ks: Sequence[int],
    facts: dict[str, Any],
    others: Mapping[str, Study] = MappingProxyType({}),
) -> dict[str, Any]:
    """Measure settings, and the first of them in `others`, against the first; keep the run."""
    began = time.perf_counter()
    if not ks or min(ks) < 1:
        raise UsageError(f"K must be at least 1, not {min(ks, default='nothing')}")
    ks = sorted(set(ks))
    values = {setting.name: measured(study, setting, ks) for setting in settings}
    values |= {name: measured(other, settings[0], ks) for name, other in others.items()}
    settings = [*settings, *(msgspec.structs.replace(settings[0], name=name) for name in others)]
    rows = _rows(study, values, ks)
    report = {
        "recipe": msgspec.to_builtins(settings[0].recipe),
        "ks": ks,
        "rows": [
            {"setting": one.name, "recipe": msgspec.to_builtins(one.recipe), **_told(rows, one)}
            for one in settings
        ],
        **facts,
    }
    if "verdict" in facts:
        main = 25 if 25 in ks else ks[-1]
        report["verdict"] = verdict([row for row in rows if row["k"] == main], 1 - study.level)
    questions = long_frame(study, "setting", values, ks)
    tables = {
        "frame": questions.filter(pl.col("setting") == settings[0].name).drop("setting"),
        "questions": questions,
        "settings": pl.DataFrame(rows, infer_schema_length=None),
    }
    words = {name: other.identity["questions"] for name, other in others.items()}
    identity = {"recipe": settings[0].recipe, "settings": settings, "ks": ks, "words": words}
    told = keep(study, kind, identity, report, tables)
    return {**told, "seconds": round(time.perf_counter() - began, 3)}


def _rows(study: Study, values: dict[str, Values], ks: Sequence[int]) -> list[dict[str, Any]]:
    """One row a setting and K, settings in order; p of the whole table corrected together."""
    whole, rows = next(iter(values)), []
    options: dict[str, Any] = {"seed": study.seed, "level": study.level}
    for name, found in values.items():
        spans = interval_matrix(found, study.clusters, level=study.level)
        mean, lo, hi = (part.tolist() for part in spans)
        for place, k in enumerate(ks):
            row = {"setting": name, "k": k, "mean": mean[place], "lo": lo[place], "hi": hi[place]}
            row |= {"n": len(found), **dict.fromkeys(TESTED)}
            if name != whole:
                a, b = found[:, place], values[whole][:, place]
                test = paired_difference(a, b, study.clusters, **options)
                row |= {"difference": test.difference, "difference_lo": test.lo}
                row |= {"difference_hi": test.hi, "p": test.p}
            rows.append(row)
    tested = [row for row in rows if row["p"] is not None]
    for row, corrected in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = corrected
    return rows


TESTED = ("difference", "difference_lo", "difference_hi", "p", "p_holm")


def _told(rows: list[dict[str, Any]], setting: Setting) -> dict[str, Any]:
    """A setting's rows as the report has them, keyed by K."""
    own = [row for row in rows if row["setting"] == setting.name]
    told: dict[str, Any] = {
        "recall": {str(row["k"]): row["mean"] for row in own},
        "interval": {str(row["k"]): [row["lo"], row["hi"]] for row in own},
    }
    if own[0]["p"] is not None:
        told["test"] = {
            str(row["k"]): {
                "difference": row["difference"],
                "interval": [row["difference_lo"], row["difference_hi"]],
                "p": row["p"],
                "p_holm": row["p_holm"],
            }
            for row in own
        }
    return told
