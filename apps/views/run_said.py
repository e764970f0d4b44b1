"""What two runs answered to the same questions, and what one judge holds of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from parts.show import literal, plain
from views import run_classes, run_judges
from workbench.rubrics import gold_of
from workbench.runs import Run
from workbench.schema import Question

__all__ = ["Said", "both"]

CUT = 240  # characters of an answer that are shown


class Said(NamedTuple):
    """The further columns of a table of questions: the gold and both answers, each with its
    verdict. `answers` and `verdicts` by side ("a", "b") and question."""

    golds: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]
    verdicts: Mapping[str, Mapping[str, tuple[str, str | None]]]
    judge: Run | None

    @property
    def heads(self) -> tuple[str, ...]:
        return ("gold", *(f"answer {side}" for side in self.answers)) if self.answers else ()

    def cells(self, question: str) -> str:
        """The columns of a question as HTML."""
        if not self.answers:
            return ""
        cells = [literal(self.golds.get(question, "–"), CUT)]
        for side, said in self.answers.items():
            mark = ""
            if self.judge is not None:
                told = self.verdicts[side].get(question, (None, None))
                mark = f"<div class=quiet>{run_judges.verdict(*told)}</div>"
            cells.append(f"{literal(said.get(question, 'no answer'), CUT)}{mark}")
        return "".join(f"<td>{cell}</td>" for cell in cells)

    def tell(self) -> None:
        """Who judged, or how to have both judged."""
        if not self.answers:
            return
        if self.judge is not None:
            said = f"Marks: verdicts of one judge, {run_judges.identity(self.judge)}; no truth."
            st.caption(plain(said))
        else:
            st.caption(
                "No judge has looked at both runs. Have each judged by the same model: "
                "`workbench judge RUN --llm MODEL`"
            )


def both(pair: tuple[Run, Run], asked: Mapping[str, Question]) -> Said:
    """What both runs say of some questions; nothing where one of them answers nothing."""
    sides = dict(zip(("a", "b"), pair, strict=True))
    answers = {side: _answers(run, asked) for side, run in sides.items()}
    if not all(answers.values()):
        return Said({}, {}, {}, None)
    judges = _judges(pair)
    verdicts = {
        side: {} if judge is None else _verdicts(judge)
        for side, judge in zip(sides, judges, strict=True)
    }
    gold = pair[0].manifest["identity"].get("gold", "original")
    golds = {q: gold_of(one, gold) or "–" for q, one in asked.items()}
    return Said(golds, answers, verdicts, judges[0])


def _judges(pair: tuple[Run, Run]) -> tuple[Run | None, Run | None]:
    """One judge's verdicts on both runs; none where nobody judged both."""
    a, b = pair
    if a.manifest["kind"] == b.manifest["kind"] == "judge":
        return pair if run_judges.alike(a, b) else (None, None)
    for judge in run_judges.every(a):
        other = run_judges.like(b, judge)
        if other is not None:
            return judge, other
    return None, None


def _answers(run: Run, asked: Mapping[str, Any]) -> dict[str, str]:
    rows = run_classes.answers(run.id).drop_nulls("answer").select("question", "answer")
    return {question: said for question, said in rows.iter_rows() if question in asked}


def _verdicts(judge: Run) -> dict[str, tuple[str, str | None]]:
    held = run_classes.verdicts(judge.id).select("question", "right", "failure").iter_rows()
    words = {True: "right", False: "wrong", None: "none"}
    return {question: (words[right], why) for question, right, why in held}
