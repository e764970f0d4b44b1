"""Comparisons of runs: against SciPy on the shared questions, and every refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from shell import report, workbench
from workbench.compare import compare, compare_runs
from workbench.errors import UsageError
from workbench.runs import Run, save_run, tidy
from workbench.workspace import Workspace

IDENTITY = {"dataset": "notes", "content": "c0ffee", "gold": "original", "level": "turn"}


def frame(values: dict[str, dict[str, float]], scopes: int = 4) -> pl.DataFrame:
    """A tidy frame of metric -> question -> value; question q7 is of scope s3 (7 modulo 4)."""
    return tidy(
        [
            {
                "question": question,
                "scope": f"s{int(question[1:]) % scopes}",
                "category": "x",
                "metric": metric,
                "value": value,
            }
            for metric, column in values.items()
            for question, value in column.items()
        ]
    )


def run(id: str, values: dict[str, dict[str, float]], **identity: Any) -> Run:
    return Run(id, {"kind": "recall", "identity": IDENTITY | identity}, frame(values))


def drawn(seed: int, first: int = 0, last: int = 40, shift: float = 0.0) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    values = (rng.integers(0, 3, 60) / 2 + shift).clip(0, 1)
    return {f"q{place}": float(values[place]) for place in range(first, last)}


def test_means_interval_and_p_are_of_the_shared_questions_alone() -> None:
    """A has questions 0..39, B 8..47: 32 shared, 8 of each scope, so the interval is Student's t
    over four scope means, and p SciPy's permutation test's within the sampling error."""
    one, other = drawn(1, 0, 40, shift=0.5), drawn(2, 8, 48)
    found = compare(run("a", {"recall@5": one}), run("b", {"recall@5": other}))
    assert (found["n"], found["only_a"], found["only_b"]) == (32, 8, 8)
    assert (found["clusters"], found["basis"]) == (4, {"recall@5": "conversations"})
    shared = [f"q{place}" for place in range(8, 40)]
    a, b = (np.array([column[q] for q in shared]) for column in (one, other))
    row = found["measures"]["recall@5"]
    assert (row["a"], row["b"]) == pytest.approx((a.mean(), b.mean()))
    assert row["difference"] == pytest.approx((a - b).mean())
    means = (a - b).reshape(8, 4).mean(axis=0)
    expected = stats.t.interval(0.95, 3, means.mean(), stats.sem(means))
    assert row["interval"] == pytest.approx(list(expected))
    p = stats.permutation_test(
        (a - b,),
        lambda x, axis: np.abs(x.sum(axis=axis)),
        permutation_type="samples",
        vectorized=True,
        alternative="greater",
        rng=np.random.default_rng(0),
    ).pvalue
    assert row["p"] == pytest.approx(p, abs=0.012)
    assert row["p_holm"] == row["p"] and row["n"] == 32


def test_the_other_way_round_is_the_negative() -> None:
    one, other = (
        run("a", {"mrr": drawn(1), "f1": drawn(3)}),
        run("b", {"mrr": drawn(2), "f1": drawn(4)}),
    )
    there, back = compare(one, other)["measures"], compare(other, one)["measures"]
    assert list(there) == ["mrr", "f1"]
    for name, row in there.items():
        lo, hi = row["interval"]
        assert back[name]["difference"] == pytest.approx(-row["difference"])
        assert back[name]["interval"] == pytest.approx([-hi, -lo])
        assert back[name]["p"] == row["p"]


def test_holm_counts_the_measures_that_are_compared() -> None:
    """Five ones against five zeros have p = 2/32; two such measures of a family of two 4/32."""
    ones, zeros = ({f"q{place}": value for place in range(5)} for value in (1.0, 0.0))
    a = run("a", {"mrr": ones, "all@1": ones, "length": ones})
    b = run("b", {"mrr": zeros, "all@1": zeros, "words": zeros})
    both = compare(a, b)
    assert [row["p"] for row in both["measures"].values()] == [2 / 32] * 2
    assert [row["p_holm"] for row in both["measures"].values()] == [4 / 32] * 2
    assert both["not_shared"] == {"a": ["length"], "b": ["words"]}
    one = compare(a, b, ["mrr"])
    assert list(one["measures"]) == ["mrr"]
    assert one["measures"]["mrr"]["p_holm"] == 2 / 32


def test_a_value_that_is_not_defined_leaves_its_measure_alone() -> None:
    one = {**drawn(1), "q3": float("nan")}
    found = compare(run("a", {"mrr": one, "f1": drawn(1)}), run("b", {"mrr": drawn(2), "f1": one}))
    assert found["n"] == 40
    assert {name: row["n"] for name, row in found["measures"].items()} == {"mrr": 39, "f1": 39}
    apart = run("b", {"mrr": drawn(1), "f1": drawn(1, 40, 50)})
    found = compare(run("a", {"mrr": drawn(1), "f1": drawn(1)}), apart)
    assert (list(found["measures"]), found["no_pairs"]) == (["mrr"], ["f1"])


def test_runs_of_two_conversations_are_compared_over_questions_and_say_so() -> None:
    frames = [frame({"mrr": drawn(seed)}, scopes=2) for seed in (1, 2)]
    a, b = (
        Run(id, {"kind": "recall", "identity": IDENTITY}, one)
        for id, one in zip("ab", frames, strict=True)
    )
    assert compare(a, b)["basis"] == {"mrr": "questions"}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"dataset": "others"}, "dataset is 'notes' in one and 'others' in the other"),
    ({"content": "decade"}, "content is 'c0ffee' in one and 'decade'"),
    ({"gold": "audited"}, "gold is 'original' in one and 'audited'"),
    ({"level": "session"}, "level is 'turn' in one and 'session'"),
    ({"dataset": None}, "dataset is 'notes' in one and None"),
]


@pytest.mark.parametrize(("identity", "why"), REFUSED)
def test_runs_measured_by_another_yardstick_are_refused(identity: dict[str, Any], why: str) -> None:
    values = {"mrr": drawn(1)}
    with pytest.raises(UsageError, match=why):
        compare(run("a", values), run("b", values, **identity))
    # Another recipe, split or seed is what comparisons are for.
    assert compare(run("a", values), run("b", values, recipe={"k": 5}, split="test", seed=1))["n"]


def test_frames_that_cannot_be_paired_are_refused() -> None:
    a, values = run("a", {"mrr": drawn(1)}), {"mrr": drawn(1)}
    nameless = run("a", values, dataset=None)
    with pytest.raises(UsageError, match="don't name the dataset"):
        compare(nameless, nameless)
    with pytest.raises(UsageError, match=r"share no measure$"):
        compare(a, run("b", {"f1": drawn(1)}))
    with pytest.raises(UsageError, match="share no measure 'f1'; they share: mrr"):
        compare(a, run("b", values), ["f1"])
    with pytest.raises(UsageError, match="no question in common"):
        compare(a, run("b", {"mrr": drawn(1, 40, 50)}))
    moved = a.frame.with_columns(scope=pl.lit("s9"))
    with pytest.raises(UsageError, match="question 'q0' is of 's0' in one and of 's9'"):
        compare(a, a._replace(frame=moved))
    with pytest.raises(UsageError, match="several values of mrr for question 'q0'"):
        compare(a, a._replace(frame=pl.concat([a.frame, a.frame])))
    with pytest.raises(UsageError, match="no values by question: no 'metric'"):
        compare(a, a._replace(frame=a.frame.drop("metric")))


# ---------------------------------------------------------------- command


@pytest.fixture
def kept(workspace: Workspace) -> tuple[Workspace, str, str]:
    ids = []
    for seed, shift in ((1, 0.5), (2, 0.0)):
        values = {"recall@5": drawn(seed, shift=shift), "mrr": drawn(seed + 2)}
        ids.append(save_run(workspace, "recall", {**IDENTITY, "k": seed}, frame(values), {"n": 40}))
    return workspace, ids[0], ids[1]


def test_runs_are_found_by_the_beginning_of_their_ids(kept: tuple[Workspace, str, str]) -> None:
    workspace, a, b = kept
    assert compare_runs(workspace, a[:6], b[:6]) == compare_runs(workspace, a, b)
    with pytest.raises(UsageError, match="no run 'zzz'"):
        compare_runs(workspace, a, "zzz")


def test_the_command_prints_what_the_function_finds(kept: tuple[Workspace, str, str]) -> None:
    workspace, a, b = kept
    found = report(workspace.root, "compare", a, b, "--measures", "recall@5", "--seed", "3")
    assert found == compare_runs(workspace, a, b, ["recall@5"], seed=3)
    row = found["measures"]["recall@5"]
    assert set(row) == {"a", "b", "difference", "interval", "p", "p_holm", "n"}
    told = workbench(workspace.root, "compare", a, b)
    assert told.code == 0, told.err
    assert "n = 40 questions of 4 conversations" in told.out
    assert f"{row['difference']:+.4f}" in told.out


def test_the_command_refuses_with_a_usage_error(kept: tuple[Workspace, str, str]) -> None:
    workspace, a, _ = kept
    other = save_run(
        workspace, "recall", {**IDENTITY, "gold": "audited"}, frame({"mrr": drawn(1)}), {}
    )
    outcome = workbench(workspace.root, "compare", a, other, "--json")
    assert outcome.code == 2
    assert "gold is 'original' in one and 'audited'" in outcome.json["error"]["message"]
