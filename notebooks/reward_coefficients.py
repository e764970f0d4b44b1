import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="What people prefer")


with app.setup(hide_code=True):
    from pathlib import Path

    import marimo as mo
    import polars as pl

    from reward_model.ready import (
        SIMULATED,
        evaluations_of,
        own_file,
        ready_evaluation,
        ready_scores,
        ready_set,
        set_names,
    )
    from reward_model.report import reward_findings
    from reward_model.rubric import RUBRIC
    from reward_model.scenes import pair_of, preferences_of
    from workbench.escaped import literal
    from workbench.excerpt import listing
    from workbench.notebook import opened, options, pressed, progress, remarked, shown

    # What sections of the explorer's page on the reward model are called here.
    PARTS = {
        "preferences": "What is preferred",
        "coefficients": "What counts, and how much",
        "accuracy": "How good it is, and what each part adds",
        "one pair": "One pair explained",
    }


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # What people prefer when an assistant uses their memories

    Somebody asks a question and sees two answers to it. One was written with nine of their
    *memories* (what an assistant knows of them), the other without, and they say which is better:
    much better, slightly better, or about the same. Does using memories please people? When? This
    notebook goes from such **judgments** to a small model that can be read: a **reward model** that
    weighs twelve *features* of a pair and says how likely the answer with memories is preferred.

    Without judgments of your own it works on **simulated** ones: made up by a program with known
    weights, so they show how the method behaves and say nothing about people. To use your own, name
    a file (CSV, JSONL or Parquet) below, or start with `-- --path judgments.csv`, and import it.
    Nothing here asks a language model, and nothing leaves this machine.
    """)
    return


@app.cell(hide_code=True)
def _():
    workspace, view, remarks = opened("path", reads=("judgments", "comparison", "section"))
    known = set_names(workspace)
    asked_for = view.judgments if view.judgments in known else SIMULATED
    doubts = list(remarks)
    if view.judgments not in ("", asked_for):
        doubts.append(f"there are no judgments named {view.judgments!r} here; {asked_for} is shown")
    remarked(doubts, view.section, PARTS)
    return asked_for, known, view, workspace


@app.cell(hide_code=True)
def _(asked_for, known):
    set_choice = mo.ui.dropdown(known, value=asked_for, label="Judgments")
    set_choice
    return (set_choice,)


@app.cell(hide_code=True)
def _(set_choice):
    set_name = set_choice.value or SIMULATED
    return (set_name,)


@app.cell(hide_code=True)
def _():
    path_text = mo.ui.text(
        value=options().get("path", ""),
        label="… or a file of your own",
        placeholder="judgments.csv",
        full_width=True,
    )
    path_text
    return (path_text,)


@app.cell(hide_code=True)
def _(path_text):
    path = path_text.value.strip()
    return (path,)


@app.cell(hide_code=True)
def _(path):
    import_button = mo.ui.run_button(label="Import this file", disabled=not path)
    import_button
    return (import_button,)


@app.cell(hide_code=True)
def _(import_button, path, set_name, workspace):
    report = None
    if path and pressed(import_button):
        chosen, report = own_file(workspace, Path(path).expanduser())
    else:
        chosen = ready_set(workspace, set_name)
    return chosen, report


@app.cell(hide_code=True)
def _(chosen, report):
    told = [
        f"{chosen.name}: {len(chosen.comparisons):,} showings of pairs to "
        f"{len(chosen.participants):,} participants, repeats and attention checks among them."
    ]
    if report is not None:
        told.append(f"Of {report.rows} rows, {report.imported} were read.")
        told += [f"line {r.line}, {r.field}: {r.reason}" for r in report.refused[:8]]
    if chosen.synthetic:
        told.append("SYNTHETIC: no person gave these judgments, and they say nothing about people.")
    mo.callout(
        mo.Html("<br>".join(map(literal, told))), kind="warn" if chosen.synthetic else "neutral"
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What is preferred

    No model yet, only counting. The *regime* is how the answer with memories was told to use them:
    only where they clearly improve the answer (conservative), where natural (ordinary), or whenever
    possible (aggressive). Whiskers are made so that 95 of 100 such intervals hold the value that
    ever more participants would give; hollow marks are the paper’s own figures, a reference from
    other people.
    """)
    return


@app.cell
def _(chosen):
    preference_figure = preferences_of(chosen)
    shown(preference_figure, 960)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What counts, and how much

    The twelve features are counted or scored for each pair (where nobody has scored them yet, by
    rules and the bundled embedder: about a minute for 1,000 pairs). Then the model learns from most
    participants and is tried on the others, fifty times over.
    """)
    return


@app.cell(hide_code=True)
def _():
    run_button = mo.ui.run_button(label="Score, fit and evaluate (about ten seconds)")
    run_button
    return (run_button,)


@app.cell
def _(chosen, run_button, workspace):
    mo.stop(not pressed(run_button), mo.md("*Press the button above.*"))
    with progress("Scoring the features") as _tell:
        scores = ready_scores(workspace, chosen, progress=_tell)
    with progress("Fitting and evaluating") as _tell:
        run = ready_evaluation(workspace, chosen, scores, progress=_tell)
    manifest = evaluations_of(workspace, chosen)[run]
    findings = reward_findings(workspace, run)
    return findings, manifest, run, scores


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    Each mark below is the **weight** of a feature, in *log odds per standard deviation*: +0.7
    doubles the odds that the answer with memories is preferred when the feature is one standard
    deviation larger. Where whiskers cross zero, even the sign is open. Simulated judgments were
    made with the paper’s weights, the hollow marks: see how near a few hundred judgments come to
    them (that only clear ones are used moves all of them a little).
    """)
    return


@app.cell
def _(findings):
    coefficients_figure = findings.figures["coefficients"]
    shown(coefficients_figure, 960)
    return


@app.cell(hide_code=True)
def _():
    mo.accordion(
        {
            "What the twelve features are": mo.Html(
                listing(
                    pl.DataFrame(
                        [
                            {"name": one.name, "is": one.title, "measures": one.definition}
                            for one in RUBRIC.values()
                        ]
                    ),
                    {"name": "feature", "is": "is", "measures": "measures"},
                    most=len(RUBRIC),
                )
            )
        }
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## How good it is, and what each part adds

    Accuracy on **people the model never saw**. The *ablations* take features away: only those about
    memories, only those about the responses, only length (does a ruler do as well?). The model is
    worth something where it beats the larger class, which needs no model. Baselines that ask a
    language model are listed as not run, with what they need.
    """)
    return


@app.cell
def _(findings):
    ablations_figure = findings.figures["accuracy"]
    shown(ablations_figure, 960)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## When it is sure

    A model that knows when it is unsure can stay silent. From left to right it speaks about ever
    more pairs, the surest first, so the line should fall.
    """)
    return


@app.cell
def _(findings):
    selective_figure = findings.figures["selective"]
    shown(selective_figure)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Whether its probabilities come true

    Of the pairs to which it gives 70 %, seven in ten should come out that way. Marks on the dashed
    line keep the promise; above it the answer with memories was preferred more often than said.
    """)
    return


@app.cell
def _(findings):
    calibration_figure = findings.figures["reliability"]
    shown(calibration_figure)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## One pair explained

    The model’s log odds for one pair as a sum: the base rate, then what each feature adds or takes.
    """)
    return


@app.cell(hide_code=True)
def _(run, view, workspace):
    predictions = pl.read_parquet(workspace.folder("runs", run) / "predictions.parquet")
    surest = predictions.sort((pl.col("full") - 0.5).abs(), descending=True)
    pair_labels = {
        f"{row['comparison']}: {row['full']:.0%} for memories": row["comparison"]
        for row in surest.iter_rows(named=True)
    }
    wanted = [label for label, one in pair_labels.items() if one == view.comparison]
    pair_choice = mo.ui.dropdown(
        pair_labels,
        value=next(iter([*wanted, *pair_labels])),
        searchable=True,
        label="Pair, the surest predictions first",
    )
    pair_choice
    return (pair_choice,)


@app.cell(hide_code=True)
def _(pair_choice):
    pair_id = pair_choice.value
    return (pair_id,)


@app.cell(hide_code=True)
def _(chosen, pair_id):
    pair = next(one for one in chosen.comparisons if one.id == pair_id)
    preferred = {True: "the answer with memories", False: "the one without", None: "neither"}[
        pair.prefers_memory
    ]
    mo.vstack(
        [
            mo.Html(f"<b>{literal(pair.query)}</b>"),
            mo.hstack(
                [
                    mo.Html(f"<b>{title}</b><br>{literal(text)}")
                    for title, text in (
                        ("With memories", pair.with_memory),
                        ("Without memories", pair.without_memory),
                    )
                ],
                widths="equal",
                gap=2,
                wrap=True,
            ),
            mo.Html(f"Judged: {literal(pair.judgment or 'not yet')}. Preferred: {preferred}."),
        ]
    )
    return


@app.cell
def _(chosen, pair_id, run, scores, workspace):
    pair_figure, explained = pair_of(workspace, run, chosen, scores, pair_id)
    shown(pair_figure, 960)
    return explained, pair_figure


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Further

    - The same in the explorer, with a pair of your own to type in: `workbench explore`, page
      *Reward model*. Judge pairs yourself on its page *Annotate*.
    - On the command line: `workbench reward evaluate simulated`, and `workbench reward export RUN
      --to report.html` for one file with all figures and tables.
    """)
    return


if __name__ == "__main__":
    app.run()
