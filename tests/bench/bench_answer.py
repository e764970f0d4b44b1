"""LoCoMo's 1,540 questions answered without a language model, against two trivial rivals.

    python tests/bench/bench_answer.py          every measure, per category, with 95 % intervals
                                                (clustered by conversation), the share of questions
                                                and the time, with and without cached vectors
    python tests/bench/bench_answer.py fit      the weights again, from conv-26 and conv-30 alone,
                                                with their five-fold cross-validated F1

With `WORKBENCH_HOME` set, the vectors that are cached there are used. Run on one core with
`OMP_NUM_THREADS=1 taskset -c 0`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from common import locomo_workspace, row
from scipy.optimize import minimize

from workbench import answer
from workbench.answer import ANSWERERS, Asked, Candidates
from workbench.answer_metrics import f1_squad
from workbench.library import BankSet, open_banks
from workbench.prepare import in_split, query_of
from workbench.presets import preset
from workbench.question_form import Form, form_of
from workbench.retrieve import retrieve
from workbench.run import Plan, evaluate, sentence_vectors
from workbench.runs import load_run
from workbench.schema import Question
from workbench.span_features import DATE_NAMES, SPAN_NAMES
from workbench.stats import paired_difference
from workbench.workspace import Workspace

RECIPE = preset("locomo-turns")
PENALTY = {"date": 0.3, "span": 0.2}
LIKELIHOOD, SHARPNESS = 0.3, 6


@contextmanager
def locomo() -> Iterator[Workspace]:
    if os.environ.get("WORKBENCH_HOME"):
        yield Workspace()
    else:
        with locomo_workspace() as workspace:
            yield workspace


def compare(workspace: Workspace) -> None:
    banks = open_banks(workspace, "locomo")
    reports: dict[str, Any] = {}
    row("", "wall", "processor", "run")
    for name in ANSWERERS:
        for what in (name, "  vectors cached"):
            began, worked = time.perf_counter(), time.process_time()
            reports[name] = evaluate(Plan(workspace, banks, RECIPE, name), fresh=True)
            spent = (time.perf_counter() - began, time.process_time() - worked)
            row(what, *(f"{seconds:.1f} s" for seconds in spent), reports[name]["run"])
    first = reports["extractive"]["measures"]
    worst: list[str] = []
    for measure, found in first.items():
        print(f"\n{measure}")
        row("", *reports)
        groups = ["micro", *found["by_category"]]
        for group in groups:
            cells = [_cell(reports[name]["measures"][measure], group) for name in reports]
            row(group, *(f"{mean:.3f} {lo:.3f}-{hi:.3f}  " for mean, lo, hi in cells))
            worst += [
                f"{measure}, {group}: {name}"
                for name, (_, _, hi) in list(zip(reports, cells, strict=True))[1:]
                if hi >= cells[0][1]
            ]
    print("\nintervals that are not apart:", *(worst or ["none"]), sep="\n  ")
    paired(workspace, reports)


def paired(workspace: Workspace, reports: dict[str, Any]) -> None:
    """Differences of the same questions, whose intervals are narrower than those of two means."""
    frames = {name: load_run(workspace, told["run"]).frame for name, told in reports.items()}
    print("\nextractive minus a rival, f1_squad: difference, 95 % interval, p")
    for rival in list(reports)[1:]:
        both = frames["extractive"].join(
            frames[rival], on=["question", "scope", "category", "metric"], suffix="_rival"
        )
        both = both.filter(both["metric"] == "f1_squad")
        for group in ["all", *sorted(set(both["category"]))]:
            rows = both if group == "all" else both.filter(both["category"] == group)
            values = (rows["value"].to_numpy(), rows["value_rival"].to_numpy())
            found = paired_difference(*values, rows["scope"].to_list())
            interval = f"{found.lo:+.3f} to {found.hi:+.3f}"
            row(f"{rival}, {group}", f"{found.difference:+.3f}", interval, f"   p {found.p:.4f}")


def _cell(found: dict[str, Any], group: str) -> tuple[float, float, float]:
    if group == "micro":
        return (found["micro"], *found["interval"])
    return (found["by_category"][group]["mean"], *found["by_category"][group]["interval"])


# ---------------------------------------------------------------- fitting the weights


class Item(NamedTuple):
    """A tuning question, its candidates, and each one's F1 against the gold."""

    question: Question
    form: Form
    found: Candidates
    worth: np.ndarray


def items(banks: BankSet, workspace: Workspace) -> list[Item]:
    made = []
    for split in ("train", "validation"):
        asked = [q for q in in_split(banks, split) if not q.abstention]
        for question, vector in zip(asked, banks.queries(q.text for q in asked), strict=True):
            shelf, query = banks.shelf(question.scope), query_of(question, vector)
            hits = retrieve(shelf, query, RECIPE)
            rows = sentence_vectors(
                Plan(workspace, banks, RECIPE), ANSWERERS["extractive"].read(hits)
            )
            people = tuple(shelf.people)
            form = form_of(question.text, people)
            known = Asked(query, people, hits, partial(stacked, rows))
            found = answer.candidates(form, answer.lines_read(known, form), hits)
            gold = question.gold.answer or ""
            worth = np.array([f1_squad(span.text, gold) or 0.0 for _, span in found.spans])
            made.append(Item(question, form, found, worth))
    return [item for item in made if len(item.worth)]


def stacked(rows: dict[str, Any], texts: Sequence[str]) -> np.ndarray:
    return np.stack([rows[text] for text in texts])


def fit(chosen: list[Item], penalty: float) -> np.ndarray:
    features = np.concatenate([item.found.features for item in chosen])
    worth = np.concatenate([item.worth for item in chosen])
    sizes = np.array([len(item.worth) for item in chosen])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def over(values: np.ndarray) -> np.ndarray:
        return np.repeat(np.add.reduceat(values, starts), sizes)

    target = np.exp(SHARPNESS * worth) - 1
    has = over(target) > 0
    target = np.where(has, target / np.maximum(over(target), 1e-12), 0)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = features @ weights
        odds = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
        odds /= over(odds)
        expected = over(odds * worth)
        value = -(odds * worth).sum() - LIKELIHOOD * (target * np.log(odds + 1e-300)).sum()
        slope = -odds * (worth - expected) + LIKELIHOOD * (odds * has - target)
        return value + penalty * weights @ weights, features.T @ slope + 2 * penalty * weights

    start = np.zeros(features.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x


def refit(workspace: Workspace) -> None:
    everything = items(open_banks(workspace, "locomo"), workspace)
    parts = {
        "date": [i for i in everything if i.form.kind == "when"],
        "span": [i for i in everything if i.form.kind not in ("when", "yesno", "likely")],
    }
    for name, chosen in parts.items():
        names = DATE_NAMES if name == "date" else SPAN_NAMES
        weights = fit(chosen, PENALTY[name])
        print(name, {n: round(float(w), 2) for n, w in zip(names, weights, strict=True)})
        order, worth = np.random.default_rng(0).permutation(len(chosen)), []
        for fold in range(5):
            held = set(order[fold::5].tolist())
            learnt = fit([i for n, i in enumerate(chosen) if n not in held], PENALTY[name])
            table = dict(zip(names, learnt, strict=True))
            with patch.object(answer, f"{name.upper()}_WEIGHTS", table):
                for item in (chosen[n] for n in sorted(held)):
                    text = answer.choose(item.form, item.found).text
                    worth.append(f1_squad(text, item.question.gold.answer or "") or 0.0)
        row(name, f"n {len(chosen)}", f"held-out F1 {np.mean(worth):.3f}")


if __name__ == "__main__":
    with locomo() as home:
        (refit if "fit" in sys.argv[1:] else compare)(home)
