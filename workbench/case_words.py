"""Cases in a rewriter's words: what was searched with, and which questions that helps and hurts."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from workbench.ask import Asking
from workbench.effects import DEPTH, Ranked
from workbench.schema import Question
from workbench.stats import EQUAL

KEYS = ("question", "scope", "user", "category", "text")
VALUES = ("having", "rank_having")

__all__ = ["WORDED", "own_words", "searched_with", "word_cases", "word_effects"]

# Rules for cases where a rewriter is chosen: the effect of its words, a title, what is looked for.
WORDED = {
    "helped": ("helped by the rewriter", "searched with the rewriter's words, more is found of it"),
    "hurt": ("hurt by the rewriter", "searched with the rewriter's words, less is found of it"),
}


def searched_with(one: Asking) -> dict[str, str]:
    """`searched_with`, the words that were searched with, where they are not the question's own."""
    return {} if one.query.text == one.text else {"searched_with": one.query.text}


def own_words(frame: pl.DataFrame, questions: Sequence[Question]) -> pl.DataFrame:
    """A frame of `question` and `text` with the questions' own words as `text`, and `searched`,
    the words that were searched with."""
    asked = {question.id: question.text for question in questions}
    own = pl.Series("text", [asked[name] for name in frame["question"]], dtype=pl.String)
    return frame.with_columns(searched="text").with_columns(own)


def word_effects(asked: Ranked, worded: Ranked, lam: float, k: int) -> pl.DataFrame:
    """What a rewriter's words do to every question, ranked alike but for the words.

    The columns of `effects.Ranked.at` and `searched`; "without" means as asked, "having" in the
    rewriter's words, both with the prior at `lam`.
    """
    own, now = (one.at(lam, k).select(*KEYS, *VALUES) for one in (asked, worded))
    both = own_words(now, asked.study.questions).with_columns(
        without=own["having"], rank_without=own["rank_having"]
    )
    change = pl.col("having") - pl.col("without")
    effect = pl.when(change > EQUAL).then(pl.lit("helped")).when(change < -EQUAL)
    return both.with_columns(
        change=change, effect=effect.then(pl.lit("hurt")).otherwise(pl.lit("unchanged"))
    )


def word_cases(frame: pl.DataFrame, effect: str) -> pl.DataFrame:
    """The questions of `word_effects` that the words help or hurt, in the columns of
    `cases.choose`, the largest changes of recall first, then those of the first rank."""
    far = [pl.col(name).fill_null(DEPTH + 1) for name in ("rank_without", "rank_having")]
    rows = frame.filter(pl.col("effect") == effect).with_columns(
        places=far[0] - far[1],
        why=pl.format(
            "Evidence recall is {} as asked and {} in the rewriter’s words.",
            pl.col("without").round(3),
            pl.col("having").round(3),
        ),
        rival=pl.lit(None, pl.String),
    )
    keys = [pl.col("change").abs(), pl.col("places").abs()]
    return rows.sort(*keys, "question", descending=[True, True, False])
