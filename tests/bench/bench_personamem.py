"""PersonaMem has no evidence turns: does a prior pick the right option more often?

For every question whose history is there, as of the turn at which it is asked, the option that is
nearest to z = lambda * question + (1 - lambda) * prior is chosen. Few questions, wide intervals.
    python tests/bench/bench_personamem.py
"""

from __future__ import annotations

import tempfile

import numpy as np
from common import data_folder, row

from workbench.datasets import import_file
from workbench.embed import embed
from workbench.library import open_banks
from workbench.priors import Occasion, prior_vector
from workbench.stats import mean_interval, paired_difference
from workbench.workspace import Workspace

SETTINGS = [
    ("none", 1.0),
    *((p, lam) for p in ("profile", "facts", "speaker", "random") for lam in (0.8, 0.5, 0.2)),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(folder)
        import_file(workspace, data_folder() / "personamem")
        banks = open_banks(workspace, "personamem")
        asked = [q for q in banks.dataset.questions if q.choices and q.gold.answer in q.choices]
        vectors = banks.queries(question.text for question in asked)
        right: dict[tuple[str, float], list[float]] = {setting: [] for setting in SETTINGS}
        for question, vector in zip(asked, vectors, strict=True):
            shelf = banks.shelf(question.scope).as_of(question.until)
            options = embed(question.choices, "passage", banks.embedder, banks.cache)
            gold = question.choices.index(question.gold.answer or "")
            for name, lam in SETTINGS:
                prior = prior_vector(name, Occasion(vector, shelf, question.people))
                mixed = vector if prior is None else lam * vector + (1 - lam) * prior
                right[name, lam].append(float(int(np.argmax(options @ mixed)) == gold))
        chance = np.mean([1 / len(question.choices) for question in asked])
        people = [str(number) for number in range(len(asked))]
        row("prior, lambda", "right", "95 %", "less none", "p")
        row("by chance", f"{chance:.3f}")
        for (name, lam), values in right.items():
            whole = mean_interval(np.asarray(values), people)
            gap = paired_difference(values, right["none", 1.0], people)
            told = [f"{whole.mean:.3f}", f"{whole.lo:.2f}-{whole.hi:.2f}"]
            row(f"{name}, {lam}", *told, f"{gap.difference:+.3f}", f"{gap.p:.2f}")
        row("questions", str(len(asked)))


if __name__ == "__main__":
    main()
