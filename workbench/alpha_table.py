"""The table behind an α landscape, and what every α would choose from it. Pure arithmetic.

Each question has a row of candidate rewrites with both rewards and both measures. The choice under
an α is the candidate with the largest α r_ans + (1 - α) r_ret, both rewards on one scale: that of
all candidates, which is what the normaliser of training has after one batch of everything. Gold
chose it, so what it reaches is a ceiling of best-of-N, not something that was trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from workbench.errors import UsageError
from workbench.reward_normaliser import TINY
from workbench.schema import Record
from workbench.stats import Estimate, interval_matrix, mean_interval

__all__ = ["COLUMNS", "AlphaTable", "Choice"]

Values = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

COLUMNS = {
    "question": pl.String,
    "scope": pl.String,
    "category": pl.String,
    "candidate": pl.Int64,
    "text": pl.String,
    "retrieval": pl.Float64,
    "answer": pl.Float64,
    "recall": pl.Float64,
    "f1": pl.Float64,
    "guards": pl.String,
}


class Choice(Record, frozen=True, kw_only=True):
    """What one α chooses: `picked` (q,) candidates (0 is the question itself), the recall and F1
    that they have, and the share of questions that are left as they are."""

    alpha: float
    picked: tuple[int, ...]
    recall: Estimate
    f1: Estimate
    kept: float


@dataclass(frozen=True)
class AlphaTable:
    """Rewards and measures (q, c) of c candidates for each of q questions, NaN where a candidate
    is missing; candidate 0 is the question as it was asked and never missing."""

    frame: pl.DataFrame

    def __post_init__(self) -> None:
        first = self.frame.filter(pl.col("candidate") == 0)
        known = first.select(MEASURES).null_count().sum_horizontal().sum() == 0
        if not len(first) or not known:
            raise UsageError("every question needs its own rewards: its candidate 0 lacks some")

    @cached_property
    def about(self) -> pl.DataFrame:
        """`question, scope, category`, a row a question, in the order of the rows below."""
        return self.frame.filter(pl.col("candidate") == 0).select("question", "scope", "category")

    def column(self, name: str) -> Values:
        """(q, c) of a column."""
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, Values]:
        places = {question: row for row, question in enumerate(self.about["question"])}
        rows = [places[question] for question in self.frame["question"]]
        columns = self.frame["candidate"].to_numpy()
        made = {}
        for name in MEASURES:
            made[name] = np.full((len(places), int(columns.max()) + 1), np.nan)
            made[name][rows, columns] = self.frame[name].to_numpy()
        return made

    @cached_property
    def scaled(self) -> tuple[Values, Values]:
        """Both rewards less their mean over all candidates, in standard deviations."""
        found, said = (self._scaled(name) for name in ("retrieval", "answer"))
        return found, said

    def _scaled(self, name: str) -> Values:
        values = self.column(name)
        scaled: Values = (values - np.nanmean(values)) / (np.nanstd(values) + TINY)
        return scaled

    def picked(self, alpha: float) -> Rows:
        """(q,) the candidate with the largest reward under an α; of equal ones the first, so a
        question is left as it is unless something better is known.

        Raises UsageError for an α outside 0..1.
        """
        if not 0 <= alpha <= 1:
            raise UsageError(f"α must lie in 0..1, not {alpha}")
        found, said = self.scaled
        return self._first_best(alpha * said + (1 - alpha) * found)

    def best(self, measure: str) -> Values:
        """(q,) the most that any candidate has of a measure: the oracle of this pool."""
        most: Values = np.nanmax(self.column(measure), axis=1)
        return most

    def chosen(self, alpha: float, measure: str) -> Values:
        """(q,) a measure of what an α picks."""
        rows = np.arange(len(self.about))
        values: Values = self.column(measure)[rows, self.picked(alpha)]
        return values

    def choice(self, alpha: float, level: float = 0.95) -> Choice:
        """What an α picks, with intervals over scopes: quick enough for a slider."""
        picked, scopes = self.picked(alpha), self.about["scope"].to_list()
        recall, f1 = (
            mean_interval(self.chosen(alpha, name), scopes, level=level)
            for name in ("recall", "f1")
        )
        kept = float((picked == 0).mean())
        return Choice(alpha=alpha, picked=tuple(picked.tolist()), recall=recall, f1=f1, kept=kept)

    def changed(self, alpha: float) -> pl.DataFrame:
        """The questions for which an α picks another wording, those that it helps most first:
        `question, scope, category, asked, chosen`, and `recall`, `f1` with `recall_asked` and
        `f1_asked`."""
        picked = self.about.select("question").with_columns(candidate=pl.Series(self.picked(alpha)))
        chosen = self.frame.join(
            picked.cast({"candidate": pl.Int64}), on=["question", "candidate"]
        ).filter(pl.col("candidate") > 0)
        asked = self.frame.filter(pl.col("candidate") == 0).select(
            "question", asked="text", recall_asked="recall", f1_asked="f1"
        )
        both = chosen.rename({"text": "chosen"}).join(asked, on="question")
        gain = pl.col("recall") - pl.col("recall_asked") + pl.col("f1") - pl.col("f1_asked")
        return both.sort(gain, "question", descending=[True, False]).select(
            *("question", "scope", "category", "asked", "chosen"),
            *("recall", "f1", "recall_asked", "f1_asked"),
        )

    def means(self, columns: Sequence[Values], level: float) -> tuple[Values, Values, Values]:
        """Mean and interval (m,) of some columns (q,)."""
        scopes = self.about["scope"].to_list()
        return interval_matrix(np.stack(columns, axis=1), scopes, level=level)

    @staticmethod
    def _first_best(values: Values) -> Rows:
        """Values that differ by rounding alone are equal."""
        rounded = np.round(np.where(np.isnan(values), -np.inf, values), 9)
        picked: Rows = np.argmax(rounded, axis=1)
        return picked


MEASURES = ("retrieval", "answer", "recall", "f1")
