"""A model's answers to the validation split of LoCoMo (conv-30: 81 questions), from every context.

    WORKBENCH_HOME=DIR python tests/bench/bench_answers_llm.py --llm hf:FOLDER
    ... --rows empty,oracle     some rows only;  --window 32768     what the model reads

Rows: empty context; naive RAG (25 turns, dense); hybrid (25 turns, `locomo-turns`); PPRO (facts,
the profile prior, semantic memories and the profile); oracle evidence; the full conversation where
it fits the window; and the extractive answerer on hybrid. Printed: every F1 and BLEU-1 with 95 %
intervals, n, failures by class, tokens and time, where answers were lost, and paired differences
between all rows (permutation test, Holm over all pairs and measures).

It is resumable: finished rows are found again, a row that was stopped goes on where it was, and
replies are cached in the workspace, so nothing is asked twice. Run it niced and in the background.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
from common import data_folder, row

from workbench.chat_models import open_llm
from workbench.compare import compare_runs
from workbench.datasets import import_file
from workbench.datasets.store import names
from workbench.errors import ModelError
from workbench.library import open_banks
from workbench.presets import preset
from workbench.run import Plan, evaluate
from workbench.schema import Recipe
from workbench.stats import holm
from workbench.workspace import Workspace

TURNS = Recipe(prior="none", lam=1.0, k=25)
HYBRID = msgspec.structs.replace(preset("locomo-turns"), k=25)
PPRO = Recipe(memories="facts", retriever="ppro", k=25)
MEASURES = ("f1_whitespace", "f1_lower", "f1_squad", "f1_locomo", "f1_set", "exact", "bleu1")


class Row(NamedTuple):
    """A line of the table."""

    recipe: Recipe
    context: str
    answerer: str = "llm"


ROWS = {
    "extractive": Row(HYBRID, "", "extractive"),
    "empty": Row(TURNS, "empty"),
    "naive RAG": Row(TURNS, "retrieved"),
    "hybrid": Row(HYBRID, "retrieved"),
    "PPRO": Row(PPRO, "ppro"),
    "oracle": Row(TURNS, "oracle"),
    "full": Row(TURNS, "full"),
}


def made(workspace: Workspace, given: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row that is asked for with its report, as soon as it is there."""
    llm = open_llm(given.llm, workspace)
    for name in given.rows.split(","):
        one = ROWS[name]
        banks = open_banks(workspace, "locomo", one.recipe.memories, one.recipe.embedder)
        asks = one.answerer == "llm"
        plan = Plan(
            workspace,
            banks,
            one.recipe,
            one.answerer,
            given.split,
            llm=llm if asks else None,
            context=one.context,
            window=given.window if asks else None,
        )
        try:
            told = evaluate(plan, fresh=given.fresh)
        except ModelError as error:
            print(f"{name}: {error}", flush=True)
            continue
        yield name, told


def describe(name: str, told: dict[str, Any]) -> None:
    spent = f"{told['tokens']['in']} in, {told['tokens']['out']} out, {told['seconds']:.0f} s"
    lost = ", ".join(f"{n} {what}" for what, n in told["attribution"]["classes"].items())
    print(f"\n{name}: n = {told['n']}, run {told['run']}; {spent}")
    print(
        f"  abstained {told['abstained']}, failed {told['failures'] or 0}, over the window "
        f"{told['over_window']}, words {told['answer_length']['words']:.1f} (gold "
        f"{told['answer_length']['gold_words']:.1f})\n  {lost}"
    )
    for measure in MEASURES:
        found = told["measures"][measure]
        lo, hi = found["interval"]
        row(f"  {measure}", f"{found['micro']:.3f}", f"{lo:.3f}-{hi:.3f}", f"{found['macro']:.3f}")


def paired(workspace: Workspace, runs: dict[str, str]) -> None:
    """Differences of all pairs over the questions that both answered."""
    pairs = list(combinations(runs, 2))
    found = [compare_runs(workspace, runs[a], runs[b], MEASURES)["measures"] for a, b in pairs]
    tests = [(pair, m, one[m]) for pair, one in zip(pairs, found, strict=True) for m in MEASURES]
    corrected = holm([test["p"] for _, _, test in tests])
    print("\ndifference, 95 % interval, n, p by Holm over all of these; * where it excludes 0")
    for ((a, b), measure, test), p in zip(tests, corrected, strict=True):
        lo, hi = test["interval"]
        mark = " *" if lo > 0 or hi < 0 else ""
        cells = (f"{test['difference']:+.3f}", f"{lo:+.3f} {hi:+.3f}", f"n {test['n']}")
        row(f"{a} - {b}", f"{measure:<15}", *cells, f"p {p:.4f}{mark}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--llm", help="as for `workbench evaluate`; else $WORKBENCH_LLM_MODEL")
    parser.add_argument("--rows", default=",".join(ROWS), help="names with commas")
    parser.add_argument("--split", default="validation")
    parser.add_argument("--window", type=int, default=32_768, help="tokens that the model reads")
    parser.add_argument("--fresh", action="store_true", help="drop what unfinished rows answered")
    given = parser.parse_args()
    workspace = Workspace()
    if "locomo" not in names(workspace):
        import_file(workspace, data_folder() / "locomo" / "locomo10.json", name="locomo")
    runs = {}
    for name, told in made(workspace, given):
        describe(name, told)
        if told["run"] is None:
            print("  not finished: run this again to ask for what failed")
        else:
            runs[name] = told["run"]
    if len(runs) > 1:
        paired(workspace, runs)


if __name__ == "__main__":
    main()
