"""Reports: what a file holds, that it stays text and numbers, and that its figures come again."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shell import report as shell_report
from shell import workbench
from small_runs import HOSTILE, recall_frame, recall_run
from workbench import report
from workbench.errors import DataError, UsageError
from workbench.report import pictures
from workbench.report.estimates import at_cutoffs
from workbench.report.sheets import cell, printed
from workbench.report.tables import bounded
from workbench.runs import save_run, write_parquet
from workbench.workspace import Workspace

FORMULA = "=HYPERLINK(1)"


def tables(found: report.Findings) -> dict[str, pl.DataFrame]:
    return {table.name: table.frame for table in found.tables}


# ---------------------------------------------------------------- what is found


def test_recall_by_hand(workspace: Workspace) -> None:
    found = report.findings(workspace, recall_run(workspace))
    held = tables(found)
    # Values at K = 1: 0 .5 .5 1 0 0; at K = 5: .5 1 .5 1 1 .5.
    assert held["recall"]["k"].to_list() == [1, 5]
    assert held["recall"]["mean"].to_list() == pytest.approx([2 / 6, 4.5 / 6])
    assert held["recall"]["n"].to_list() == [6, 6]
    rows = {(r["category"], r["k"]): r for r in held["categories"].iter_rows(named=True)}
    assert rows["multi-hop", 5]["mean"] == pytest.approx(2 / 3)
    assert rows["odd", 5]["mean"] == pytest.approx(2.5 / 3)
    assert all(0 <= r["lo"] <= r["mean"] <= r["hi"] <= 1 for r in rows.values())
    passport = found.passport
    assert (passport.n, passport.clusters, passport.excluded) == (6, 3, {"without evidence": 2})
    assert (passport.data, passport.seed, passport.dataset) == ("c0ffee", 0, "toy")
    assert "recall@5 is 0.750" in found.lead[0]  # the largest K that is not above 25
    assert list(found.figures) == ["recall", "categories"]
    assert list(found.figures["recall"].data[1].y) == pytest.approx([2 / 6, 4.5 / 6])


def test_a_comparison_is_paired(workspace: Workspace) -> None:
    better, worse = recall_run(workspace), recall_run(workspace, shift=0.25, prior="none")
    found = report.findings(workspace, better, worse)
    held = tables(found)["differences"]
    assert held["metric"].to_list() == ["recall@1", "recall@5"]
    assert held["difference"].to_list() == pytest.approx([0.25, 0.25])
    # Six equal differences: of 2**6 sign flips two are as far from 0, so p = 1/32; Holm doubles it.
    assert held["p"].to_list() == pytest.approx([1 / 32, 1 / 32])
    assert held["p_holm"].to_list() == pytest.approx([1 / 16, 1 / 16])
    assert found.passport.against == worse
    assert f"against {worse[:10]}" in found.figures["difference"].layout.meta["caption"]


def test_runs_with_nothing_in_common_are_not_compared(workspace: Workspace) -> None:
    frame = recall_frame().with_columns(question=pl.lit("other ") + pl.col("question"))
    identity = {"dataset": "toy", "content": "c0ffee"}
    other = save_run(workspace, "recall", identity, frame, {})
    with pytest.raises(UsageError, match="no question in common"):
        report.findings(workspace, recall_run(workspace), other)


def test_a_lambda_sweep_is_told_whole(workspace: Workspace) -> None:
    found = report.findings(workspace, lambda_run(workspace))
    assert "highest at λ = 0.5 (0.800)" in found.lead[0]
    assert "λ = 0.5 to 1" in found.lead[0]
    assert "+0.100 [+0.020, +0.180]; p = 0.004, and 0.008 with the choice" in found.lead[1]
    assert "10% of questions and 0% of 6 users find less" in found.lead[2]
    assert list(found.figures) == ["lambda_25", "surface", "difference", "recall"]
    choice = tables(found)["lambda"].row(0, named=True)
    assert (choice["k"], choice["best_lam"], choice["plateau"]) == (25, 0.5, "0.5–1")
    assert (choice["difference"], choice["p"]) == (0.1, 0.004)


@pytest.mark.parametrize("kind", ["score", "evaluate"])
def test_scored_answers_are_told_as_they_were_reported(workspace: Workspace, kind: str) -> None:
    one = {"micro": 0.4, "interval": [0.3, 0.5], "macro": 0.35, "macro_interval": [None, None]}
    one |= {"by_category": {"odd": {"n": 3, "mean": 0.25, "interval": [0.125, 0.375]}}}
    facts = {"measures": {"f1_squad": one}, "missing": ["q7", "q8"], "failed": []}
    facts |= {"ceiling": {"share": 0.75, "disputed": 2, "n": 8}}
    facts = facts if kind == "score" else {"report": facts}
    run = save_run(workspace, kind, {"dataset": "toy"}, recall_frame(), facts)
    found = report.findings(workspace, run)
    assert found.lead == [
        "F1, SQuAD: 0.400 [0.300, 0.500] over questions, 0.350 over categories.",
        "2 questions have no answer, 0 rows could not be used.",
        "An audit disputes 2 of these 8 golds: at most 75.0% of true answers can be right.",
    ]
    assert tables(found)["measures"].rows() == [
        ("f1_squad", "questions (micro)", 0.4, 0.3, 0.5),
        ("f1_squad", "categories (macro)", 0.35, None, None),
    ]
    [dots] = found.figures["categories"].data
    assert (list(dots.x), list(dots.error_x.array)) == ([0.25], [0.125])


def test_layers_and_settings_are_told(workspace: Workspace) -> None:
    cells = pl.DataFrame(
        {
            "k_episodic": [5, 10, 5, 10],
            "k_semantic": [0, 0, 3, 3],
            **{"mean": [0.1, 0.5, 0.3, 0.5], "lo": [0.0] * 4, "hi": [1.0] * 4},
        }
    )
    found = report.findings(workspace, sweep_run(workspace, "sweep-layers", "layers", cells))
    # Of two equal cells the one that keeps less.
    assert found.lead == [
        "Of this grid, K_E = 10 with K_S = 0 finds most (0.500).",
        "a remark",
    ]
    rows = pl.DataFrame(
        {
            "setting": ["facts", "none"],
            "k": [25, 25],
            **{"mean": [0.5, 0.4], "lo": [0.4, 0.3], "hi": [0.6, float("inf")], "n": [6, 6]},
            "difference": [None, -0.1],
            **{"difference_lo": [None, -0.2], "difference_hi": [None, 0.1], "p": [None, 0.5]},
        }
    )
    found = report.findings(workspace, sweep_run(workspace, "sweep-controls", "settings", rows))
    assert found.title == "Control priors on toy"
    assert found.lead == ["No gain is shown.", "a remark"]
    assert tables(found)["settings"]["hi"].to_list() == [0.6, None]
    assert list(found.figures["settings"].data[0].x) == [0.5, 0.4]
    assert "Infinity" not in report.json_text(found)


def sweep_run(workspace: Workspace, kind: str, name: str, table: pl.DataFrame) -> str:
    told = {"ks": [25], "notes": ["a remark"], "verdict": "No gain is shown."}
    files = {f"{name}.parquet": lambda path: write_parquet(table, path)}
    identity = {"dataset": "toy", "content": "c0ffee"}
    return save_run(workspace, kind, identity, recall_frame(), {"report": told}, files)


def test_an_unknown_kind_shows_its_measures(workspace: Workspace) -> None:
    run = save_run(workspace, "novelty", {"dataset": "toy"}, recall_frame(), {})
    held = tables(report.findings(workspace, run))
    assert held["measures"]["metric"].to_list() == ["recall@1", "recall@5"]
    assert len(held["categories"]) == 4


def test_cutoffs_are_read_from_metrics() -> None:
    names = ["recall@25", "mrr", "ndcg@5", "recall@25+7"]
    frame = pl.DataFrame({"metric": names})
    assert at_cutoffs(frame).select("measure", "k").rows() == [("ndcg", 5), ("recall", 25)]


def test_bounds_that_nothing_tells_are_null() -> None:
    frame = pl.DataFrame({"mean": [0.5], "lo": [float("-inf")], "hi": [0.75]})
    assert bounded(frame).rows() == [(0.5, None, 0.75)]


def lambda_run(workspace: Workspace) -> str:
    """A run as the λ sweep keeps it, its numbers made up."""
    means = {(0.0, 1): 0.1, (0.5, 1): 0.3, (1.0, 1): 0.2, (0.0, 25): 0.4, (0.5, 25): 0.8}
    means[1.0, 25] = 0.7
    surface = pl.DataFrame(
        [
            {"lam": lam, "k": k, "mean": m, "lo": m - 0.05, "hi": m + 0.05}
            for (lam, k), m in means.items()
        ]
    )
    gap = {"k": [1, 25], "difference": [0.1, 0.1], "lo": [0.0, 0.02], "hi": [0.2, 0.18]}
    difference = pl.DataFrame({"lam": [0.5, 0.5], **gap})
    told = {
        "recipe": {"prior": "facts"},
        "ks": [25],
        "best": {"25": {"lam": 0.5, "recall": 0.8}},
        "plateau": {"25": [0.5, 1.0]},
        "test_vs_query_only": {
            "25": {
                "lam": 0.5,
                "difference": 0.1,
                "interval": [0.02, 0.18],
                "p": 0.004,
                "p_bonferroni": 0.008,
            }
        },
        "harmed": {
            "25": {
                "lam": 0.5,
                "questions": 0.1,
                "users": 0.0,
                "helped_questions": 0.3,
                "helped_users": 1.0,
                "n_users": 6,
            }
        },
        "frame_lam": 0.5,
        "notes": [],
    }
    return save_run(
        workspace,
        "sweep-lambda",
        {"dataset": "toy", "content": "c0ffee", "lams": [0, 0.5, 1]},
        recall_frame(),
        {"report": told},
        {
            "surface.parquet": lambda path: write_parquet(surface, path),
            "difference.parquet": lambda path: write_parquet(difference, path),
        },
    )


# ---------------------------------------------------------------- sheets


def test_a_spreadsheet_runs_no_cell() -> None:
    texts = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "＝1", "plain", 'a,"b"\nc', "naïve λ"]
    frame = pl.DataFrame({"=text": texts, "value": [-0.1 * at for at in range(len(texts))]})
    made = report.csv_text(frame)
    assert made.startswith("\ufeff")
    head, *rows = csv.reader(io.StringIO(made.removeprefix("\ufeff"), newline=""))
    assert head == ["'=text", "value"]
    assert [text for text, _ in rows] == [*(f"'{text}" for text in texts[:8]), *texts[8:]]
    # Numbers stay numbers, to the last bit, minus signs included.
    assert [float(value) for _, value in rows] == frame["value"].to_list()
    assert pl.read_csv(made.encode())["value"].dtype == pl.Float64


def test_latex_is_booktabs_with_its_text_escaped(workspace: Workspace) -> None:
    odd = r"50% of $x_1 & #2 {~^\input{/etc/passwd}} λ"
    made = report.latex_text(report.findings(workspace, recall_run(workspace, odd)))
    assert r"50\% of \$x\_1 \& \#2 \{\textasciitilde{}\textasciicircum{}" in made
    assert r"\textbackslash{}input\{/etc/passwd\}\} \ensuremath{\lambda}" in made
    assert r"\input" not in made.replace(r"\textbackslash{}input", "")
    for rule in ("toprule", "midrule", "bottomrule"):
        assert made.count(f"\\{rule}") == 3  # one in each of the tables
    bare = re.sub(r"\\[{}&%$#_]", "", made)
    assert bare.count("{") == bare.count("}")
    for block in bare.split(r"\end{tabular}")[:-1]:
        [columns] = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", block)
        body = block.split(r"\toprule")[1]
        assert {line.count("&") for line in body.splitlines() if line.endswith(r"\\")} == {
            len(columns) - 1
        }
    assert r"Brackets: 95\% intervals over " in made


def test_columns_take_up_their_intervals() -> None:
    frame = pl.DataFrame(
        {
            "name": ["a", "b"],
            "mean": [0.5, 0.25],
            "lo": [0.25, None],
            "hi": [0.75, None],
            "difference": [None, -0.125],
            "difference_lo": [None, -0.25],
            "difference_hi": [None, 0.0],
            "p": [0.0004, 0.5],
            "n": [1536, 2],
        }
    )
    assert [(name, cells) for name, cells, _ in printed(frame)] == [
        ("name", ["a", "b"]),
        ("mean", ["0.500 [0.250, 0.750]", "0.250"]),
        ("difference", ["–", "-0.125 [-0.250, +0.000]"]),
        ("p", ["<0.001", "0.500"]),
        ("n", ["1,536", "2"]),
    ]


@pytest.mark.parametrize(
    ("value", "name", "shown"),
    [(None, "", "–"), (0.05, "lam", "0.05"), (1.0, "best_lam", "1"), (0.0, "mean", "0.000")],
)
def test_cells(value: Any, name: str, shown: str) -> None:
    assert cell(value, name) == shown


def test_json_is_ascii_and_holds_tables_and_figures(workspace: Workspace) -> None:
    found = report.findings(workspace, recall_run(workspace, "naïve λ"))
    text = report.json_text(found)
    assert text.isascii()
    made = json.loads(text)
    assert [row["mean"] for row in made["tables"]["recall"]["rows"]] == pytest.approx([1 / 3, 0.75])
    assert made["figures"]["recall"]["layout"]["meta"]["passport"] == made["passport"]


# ---------------------------------------------------------------- the page


class Page(HTMLParser):
    """Elements with their attributes, the texts of scripts, and all other text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text += data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Page]:
    workspace = Workspace(tmp_path_factory.mktemp("workspace"))
    page = report.page(report.findings(workspace, recall_run(workspace, HOSTILE)))
    return page, Page(page)


def test_the_page_shows_data_as_text(hostile: tuple[str, Page]) -> None:
    _, page = hostile
    assert HOSTILE in page.text
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "a", "iframe", "object", "embed", "link", "form", "base"}
    assert [name for _, attrs in page.elements for name in attrs if name.startswith("on")] == []


def test_the_page_fetches_nothing(hostile: tuple[str, Page]) -> None:
    _, page = hostile
    assert [attrs for _, attrs in page.elements if {"src", "href", "action"} & attrs.keys()] == []


def test_only_the_pages_own_two_scripts_may_run(hostile: tuple[str, Page]) -> None:
    text, page = hostile
    [policy] = [a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a]
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    kinds = [attrs.get("type") for tag, attrs in page.elements if tag == "script"]
    assert kinds == ["application/json", None, None]
    digests = {
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in page.scripts[1:]
    }
    assert set(rules["script-src"].split()) == digests
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules  # so that default-src rules it
    assert text.count("plotly.js v") == 1  # the library once


def test_the_pages_figures_are_json(hostile: tuple[str, Page]) -> None:
    _, page = hostile
    held = json.loads(page.scripts[0])
    assert set(held) == {"figures", "templates"} and set(held["templates"]) == {"light", "dark"}
    assert "<" not in page.scripts[0]
    places = {attrs.get("id") for _, attrs in page.elements}
    assert {f"figure-{name}" for name in held["figures"]} <= places


def test_the_page_tells_counts_tables_and_origin(hostile: tuple[str, Page]) -> None:
    _, page = hostile
    assert "n = 6 questions in 3 conversations; excluded: 2 without evidence" in page.text
    assert "0.333 [" in page.text
    for known in ("c0ffee", "recall-workbench", "Where this comes from"):
        assert known in page.text


# ---------------------------------------------------------------- pictures


def drawing(grey: int = 0) -> bytes:
    """A PNG of one pixel, by the format's specification."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes([0, grey]))
    made = [chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(made)


@pytest.fixture
def fake_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_drawn", lambda figure: drawing())


@pytest.mark.usefixtures("fake_browser")
def test_a_picture_carries_its_passport(workspace: Workspace) -> None:
    found = report.findings(workspace, recall_run(workspace))
    made = report.png(found.figures["recall"], "dark")
    assert [kind for kind, _ in pictures.chunks(made)] == [b"IHDR", b"tEXt", b"IDAT", b"IEND"]
    said = pictures.read_text(made)
    assert (said["name"], said["mode"], said["passport"]["n"]) == ("recall", "dark", 6)
    assert said["pixels"] == pictures.pixels_sha256(drawing())
    assert said["pixels"] != pictures.pixels_sha256(drawing(255))


def test_foreign_and_damaged_pictures_are_told_apart() -> None:
    with pytest.raises(DataError, match="carries no passport"):
        pictures.read_text(drawing())
    with pytest.raises(DataError, match="not a PNG"):
        pictures.read_text(b"GIF89a")
    with pytest.raises(DataError, match="ends in the middle"):
        pictures.read_text(drawing()[:-3])
    broken = bytearray(drawing())
    broken[20] ^= 1  # inside IHDR
    with pytest.raises(DataError, match="damaged in a chunk IHDR"):
        pictures.read_text(bytes(broken))


def test_without_a_browser_the_message_says_what_to_do(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(pictures, "find_browser", lambda: None)
    found = report.findings(workspace, recall_run(workspace))
    with pytest.raises(UsageError, match=r"install chromium .* BROWSER_PATH"):
        report.png(found.figures["recall"])


def test_a_browser_that_cannot_draw_is_named(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = report.findings(workspace, recall_run(workspace))
    broken = shutil.which("false")
    assert broken is not None
    monkeypatch.setenv("BROWSER_PATH", broken)
    with pytest.raises(DataError, match=f"{broken} could not draw"):
        report.png(found.figures["recall"])


# ---------------------------------------------------------------- made again


@pytest.mark.usefixtures("fake_browser")
@pytest.mark.parametrize("ending", ["html", "json", "png"])
def test_an_export_is_reproduced(workspace: Workspace, tmp_path: Path, ending: str) -> None:
    path = exported(workspace, tmp_path / f"x.{ending}", recall_run(workspace))
    made = report.reproduce(workspace, path)
    assert [one.figure for one in made] == (
        ["recall"] if ending == "png" else ["recall", "categories"]
    )
    assert all(one.identical and not one.differences for one in made)
    assert made[0].passport.data == "c0ffee"


def test_a_comparison_is_reproduced(workspace: Workspace, tmp_path: Path) -> None:
    other = recall_run(workspace, shift=0.25, prior="none")
    path = exported(workspace, tmp_path / "x.json", recall_run(workspace), other)
    assert [one.identical for one in report.reproduce(workspace, path)] == [True, True]


@pytest.mark.parametrize("ending", ["html", "json"])
def test_a_changed_figure_is_found_out(workspace: Workspace, tmp_path: Path, ending: str) -> None:
    path = exported(workspace, tmp_path / f"x.{ending}", recall_run(workspace))
    text = path.read_text(encoding="utf-8")
    changed = text.replace("Evidence recall by the number", "Great recall by the number")
    path.write_text(changed, encoding="utf-8")
    curve, dots = report.reproduce(workspace, path)
    assert (curve.identical, curve.differences) == (False, ["layout.title.text"])
    assert dots.identical


@pytest.mark.usefixtures("fake_browser")
def test_a_retouched_picture_is_found_out(workspace: Workspace, tmp_path: Path) -> None:
    path = exported(workspace, tmp_path / "x.png", recall_run(workspace))
    held = path.read_bytes()
    one, other = (png[png.index(b"IDAT") - 4 :] for png in (drawing(), drawing(255)))
    assert held.endswith(one)
    path.write_bytes(held.removesuffix(one) + other)
    [found] = report.reproduce(workspace, path)
    assert found.differences == ["the picture was changed after it was exported"]


def test_what_cannot_be_made_again_says_why(workspace: Workspace, tmp_path: Path) -> None:
    path = exported(workspace, tmp_path / "x.json", recall_run(workspace))
    with pytest.raises(UsageError, match="no run"):
        report.reproduce(Workspace(tmp_path / "elsewhere"), path)
    for name, text in {
        "a.html": "<p>hello",
        "b.json": "[1]",
        "c.json": '{"figures": {"x": {"layout": {}}}}',
        "d.json": "{",
        "e.html": "\udcff",
        "f.json": '{"figures": {}}',
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8", errors="surrogateescape")
        with pytest.raises(DataError, match=r"no figure|holds no figures"):
            report.reproduce(workspace, tmp_path / name)


def exported(workspace: Workspace, path: Path, run: str, against: str | None = None) -> Path:
    found = report.findings(workspace, run, against)
    if path.suffix == ".png":
        path.write_bytes(report.png(found.figures["recall"]))
    else:
        make = report.page if path.suffix == ".html" else report.json_text
        path.write_text(make(found), encoding="utf-8")
    return path


# ---------------------------------------------------------------- the commands


def test_the_commands(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    run = recall_run(workspace, FORMULA)
    root = workspace.root
    told = shell_report(root, "export", run[:6], "--to", "out/report.html")
    assert told["figures"] == ["recall", "categories"] and told["passport"]["run"] == run
    assert (tmp_path / "out" / "report.html").stat().st_size == told["bytes"]
    refused = workbench(root, "export", run, "--to", "out/report.html")
    assert refused.code == 2 and "out/report.html is there already; give --force" in refused.err
    assert (tmp_path / "out" / "report.html").stat().st_size == told["bytes"]
    (tmp_path / "out" / "report.html").write_text("an older one", encoding="utf-8")
    told = shell_report(root, "export", run, "--to", "out/report.html", "--force")
    assert (tmp_path / "out" / "report.html").stat().st_size == told["bytes"]
    again = shell_report(root, "reproduce", "out/report.html")
    assert [one["identical"] for one in again["figures"]] == [True, True]
    shell_report(root, "export", run, "--to", "x.csv", "--table", "questions")
    held = pl.read_csv(tmp_path / "x.csv")
    assert held.columns == ["question", "scope", "category", "metric", "value"] and len(held) == 12
    assert set(held["category"]) == {"multi-hop", f"'{FORMULA}"}
    path = tmp_path / "out" / "report.html"
    path.write_text(path.read_text(encoding="utf-8").replace("recall@K", "recall@J"), "utf-8")
    changed = workbench(root, "reproduce", "out/report.html")
    assert changed.code == 3 and "differs: layout.yaxis.title.text" in changed.out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("export {run} --to x.docx", "ends in .html, .csv, .tex, .json, .png, .svg"),
        ("export nothing --to x.html", "no run 'nothing'"),
        ("export {run} --to x.csv --table lost", "choose from: recall, categories, others, quest"),
        ("export {run} --to x.png --figure lost", "choose from: recall, categories"),
        ("reproduce lost.html", "lost.html: no such file"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, arguments: str, why: str) -> None:
    workspace = Workspace(tmp_path / "workspace")
    run = recall_run(workspace)
    outcome = workbench(workspace.root, *arguments.format(run=run).split())
    assert outcome.code == 2 and why in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]
