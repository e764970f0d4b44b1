"""The weights of the extractive answerer's features.

They maximise, over the 233 questions of LoCoMo's conv-26 and conv-30 that are no abstention items
(preset `locomo-turns`), the expected SQuAD F1 of a span drawn by the softmax of the scores, plus
0.3 times the log-likelihood of the best spans, less an L2 penalty (0.3 for dates, 0.2 for other
spans). `python tests/bench/bench_answer.py fit` makes them again.
"""

from __future__ import annotations

__all__ = ["DATE_WEIGHTS", "SPAN_WEIGHTS"]

DATE_WEIGHTS = {
    "rank": 0.72,
    "score": 0.67,
    "owner": 0.16,
    "cosine": 0.4,
    "overlap": 0.67,
    "overlap_memory": 1.09,
    "overlap_previous": 0.55,
    "asks": -0.05,
    "said": -1.39,
    "year": -0.08,
    "month": 0.58,
    "in_question": 0.68,
    "near": 0.94,
    "said_clause": -0.44,
}

SPAN_WEIGHTS = {
    "rank": 0.47,
    "score": 0.53,
    "owner": 0.39,
    "cosine": 1.44,
    "overlap": 0.54,
    "overlap_memory": 0.65,
    "overlap_previous": 1.66,
    "asks": -0.32,
    "one_word": -0.98,
    "many_words": 0.4,
    "quote": 1.05,
    "echo": -0.59,
    "light": -0.84,
    "proper": 2.11,
    "digits": 0.13,
    "near": 0.7,
    "rarity": -0.04,
    "personal": -1.27,
    "somebody": -1.68,
    "time_word": -0.7,
    "opening": -0.39,
    "act_first": 0.41,
    "verb_first": -0.52,
    "verb_last": -0.11,
    "long_many": 0.82,
    "long_clause": 0.34,
    "who_proper": 0.67,
    "where_placed": 0.94,
    "where_proper": 1.86,
    "quote_title": 1.33,
    "after_asking": 0.43,
    "said_words": 0.47,
    "follows_is": 0.65,
}
