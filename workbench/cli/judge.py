"""The command that has answers judged by a language model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from workbench.cli.command import PARTIAL, Llm, command
from workbench.cli.output import Output, bracket, shown, table
from workbench.errors import ModelError, UsageError

__all__ = ["register"]

SHOWN = 10

Repeats = Annotated[
    int, typer.Option(help="Votes an answer, in both orders by turns; the majority counts.")
]
Sample = Annotated[int | None, typer.Option(help="Judge so many answers, drawn by the seed.")]
Against = Annotated[
    str | None, typer.Option(help="Compare with verdicts that the file's rows have in this field.")
]


def register(app: typer.Typer) -> None:
    command(app, "judge")(judge)


def judge(
    answers: Annotated[
        str,
        typer.Argument(help="A run of `evaluate`, or a JSONL of {question_id, hypothesis} rows."),
    ],
    out: Output,
    llm: Llm = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the dataset that a file's questions are of.")
    ] = None,
    gold: Annotated[
        Literal["original", "audited"] | None,
        typer.Option(help="Which gold answers count. Default: the run's own, else original."),
    ] = None,
    repeats: Repeats = 1,
    sample: Sample = None,
    against: Against = None,
) -> None:
    """Have answers judged right or wrong by a language model, a rubric a kind of question.

    Replies without a readable verdict are not judged: they are listed, and asked for anew when the
    command is given again. Exit code 3 where some are left, 5 where nothing could be judged.
    """
    from workbench.chat_models import open_llm
    from workbench.judge import Judging, judge_answers

    given, others = _given(out, answers, dataset, against)
    kind: Any = gold or given.gold
    judging = Judging(
        out.workspace, given, open_llm(llm, out.workspace), kind, repeats, sample, out.seed
    )
    with out.progress() as progress:
        report = judge_answers(judging, others, progress)
    if report["run"] is None:
        out.exit_code = ModelError.exit_code
    elif report["pending"] or report["unusable"] or report["missing"]:
        out.exit_code = PARTIAL
    out.data(report, _report)


def _given(out: Output, answers: str, dataset: str | None, against: str | None) -> tuple[Any, Any]:
    """The answers, and the verdicts to compare with; a file wins over a run of that name."""
    from workbench.answer_sources import answers_of_file, answers_of_run, given_verdicts

    path = Path(answers)
    if path.is_file():
        if dataset is None:
            raise UsageError(f"{answers} is a file: name the dataset of its questions (--dataset)")
        others = None if against is None else given_verdicts(path, against)
        return answers_of_file(out.workspace, dataset, path), others
    if against is not None or dataset is not None:
        raise UsageError(f"--dataset and --against go with a file of answers; {answers} is none")
    return answers_of_run(out.workspace, answers), None


def _report(report: dict[str, Any]) -> Iterator[Any]:
    model = report["judge"]["model"]
    name = shown(str(model.get("model", model.get("kind"))))
    yield f"run {report['run']}: {report['dataset']}, {shown(report['source'])}"
    yield f"judge: {name}, against {report['gold']} gold; verdicts of a model, not the truth"
    yield f"judged {report['judged']} of n = {report['n']}; not judged: {_counts(report)}"
    yield f"accuracy {_share(report['accuracy'], report['interval'])}"
    yield f"averaged over categories {_share(report['task_averaged'], report['task_interval'])}"
    columns = ["category", "n", "judged", "accuracy", f"{report['level']:.0%} interval"]
    rows = [
        [name, one["n"], one["judged"], one["accuracy"], bracket(one["interval"])]
        for name, one in report["by_category"].items()
    ]
    yield table("", columns, rows)
    yield from _abstention(report["abstention"])
    yield from _longmemeval(report.get("longmemeval"))
    yield from _repeats(report["repeats"])
    yield from _against(report.get("against"))
    for what, key in (("contain grading language", "grading_language"), ("pending", "pending")):
        if ids := report[key]:
            more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
            yield f"{what}: {', '.join(shown(one, 40) for one in ids[:SHOWN])}{more}"
    for what in ("missing", "extra", "unusable"):
        if found := report[what]:
            yield f"{what} answers: {found if isinstance(found, int) else len(found)}"


def _abstention(told: dict[str, Any]) -> Iterator[str]:
    if told["n"]:
        share = _share(told["accuracy"], told["interval"])
        yield (
            f"unanswerable questions: {share} of {told['judged']} judged are declined; "
            f"not judged: {_counts(told)}"
        )
    other = told["declined_elsewhere"]
    yield f"declined among the answerable: {_share(other['share'], other['interval'])}"


def _longmemeval(told: dict[str, Any] | None) -> Iterator[Any]:
    if told is None:
        return
    names = {
        "all": "all six types, abstention within them",
        "five": "the paper's five",
        "all_answerable": "all six, answerable",
        "five_answerable": "the paper's five, answerable",
    }
    rows = [
        [names[key], one["n"], one["overall"], one["task_averaged"], ", ".join(one["missing"])]
        for key, one in told.items()
    ]
    yield table("LongMemEval", ["", "n", "overall", "task-averaged", "types missing"], rows)


def _repeats(told: dict[str, Any]) -> Iterator[str]:
    if told["repeats"] > 1:
        parts = [
            f"{name.replace('_', ' ')} {_share(told[name]['share'], told[name]['interval'])}"
            for name in ("same", "between_orders", "within_order")
            if told[name]["n"]
        ]
        yield f"the judge agrees with itself over {told['repeats']} repeats: {'; '.join(parts)}"


def _against(told: dict[str, Any] | None) -> Iterator[str]:
    if told is None:
        return
    left = ", ".join(f"{n} {why}" for why, n in told["left_out"].items()) or "none"
    yield (
        f"agreement with the given verdicts: {_share(told['agreement'], told['interval'])} of "
        f"{told['n']} answers (left out: {left}); kappa "
        f"{_share(told['kappa'], told['kappa_interval'])} {told['kappa_why']}".rstrip()
    )
    yield (
        f"accuracy on these: {_share(told['our_accuracy'], None)} by this judge, "
        f"{_share(told['their_accuracy'], None)} by theirs, who are of one mind on "
        f"{_share(told['theirs_unanimous'], None)}"
    )


def _counts(told: dict[str, Any]) -> str:
    return ", ".join(f"{n} {why}" for why, n in told["not_judged"].items()) or "none"


def _share(value: float | None, interval: list[float | None] | None) -> str:
    told = "not known" if value is None else f"{value:.4f}"
    return told if interval is None or value is None else f"{told} {bracket(interval)}"
