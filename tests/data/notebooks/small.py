import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium")

with app.setup:
    import marimo as mo

    from workbench import open_banks
    from workbench.escaped import literal
    from workbench.notebook import opened, pressed, progress
    from workbench.recall import measure, save_recall
    from workbench.report import findings


@app.cell
def _():
    workspace, view, remarks = opened()
    mo.md("# A small notebook\n\nIt draws recall by K at one λ, to try what all notebooks share.")
    return remarks, view, workspace


@app.cell
def _(remarks):
    mo.Html(literal("; ".join(remarks)))


@app.cell
def _(view):
    lam_slider = mo.ui.slider(0, 1, 0.1, value=view.lam, label="λ, the weight of the query")
    lam_slider
    return (lam_slider,)


@app.cell
def _(lam_slider):
    lam = lam_slider.value
    return (lam,)


@app.cell
def _():
    run_button = mo.ui.run_button(label="Measure")
    run_button
    return (run_button,)


@app.cell
def _(lam, run_button, view, workspace):
    mo.stop(not pressed(run_button), mo.md("Press *Measure*."))
    with progress("Measuring") as tell:
        banks = open_banks(workspace, view.dataset, progress=tell)
        outcome = measure(banks, view.but(lam=lam).recipe(), progress=tell)
        run = save_recall(workspace, banks, outcome)
    return (run,)


@app.cell
def _(run, workspace):
    recall_figure = findings(workspace, run).figures["recall"]
    recall_figure


if __name__ == "__main__":
    app.run()
