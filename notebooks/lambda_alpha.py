import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="λ and α")

with app.setup(hide_code=True):
    import marimo as mo
    import msgspec

    from workbench.alpha_landscape import table_of
    from workbench.alpha_report import choice_words
    from workbench.curves import latest, plan_for
    from workbench.datasets import store
    from workbench.effects import GRID, flipped, ranked
    from workbench.errors import UsageError, WorkbenchError
    from workbench.escaped import literal
    from workbench.excerpt import listing
    from workbench.grids import control_sweep
    from workbench.lambda_lines import control_lines, lambda_words
    from workbench.library import build_command, by_model, open_banks
    from workbench.linked_runs import named_runs, started_at
    from workbench.notebook import (
        attended,
        empty,
        framed,
        on_screen,
        pressed,
        progress,
        remarked,
        shown,
    )
    from workbench.report import findings
    from workbench.rewriters import rewriter_labels
    from workbench.run_list import apart
    from workbench.runs import load_run
    from workbench.scenes.sweeps import (
        control_bars,
        control_curves,
        flips_at,
        lambda_curve,
        lambda_curves,
        landscape_at,
        shares_by_lam,
        surface_of,
        training_of,
    )
    from workbench.scenes.words import TRAINED_BY, questions_to_ask, study_of, worded
    from workbench.sweep import lambda_sweep
    from workbench.usable import (
        dataset_names,
        kinds_there,
        opens_at_once,
        priors_for,
        usable_in,
    )

    # What is told of a training besides its curves: tables of its report, and their headings.
    TRAINED = {
        "checkpoints": {
            "chosen_by": "chosen by",
            "step": "at step",
            "rewriter": "its name for --rewriter",
        },
        "validations": {
            "step": "step",
            "recall": "recall",
            "recall_lo": "from",
            "recall_hi": "to (95 %)",
            "f1": "F1",
            "f1_lo": "from ",
            "f1_hi": "to (95 %) ",
            "not_answered": "not answered",
        },
    }
    # With more questions than this, whatever takes many rankings waits for its button.
    SMALL = 300


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # How much should the profile weigh?

    A question is turned into a vector, and so is the profile of the person who asks. The search
    uses a mixture of both: **z = λ · question + (1 − λ) · profile**. At **λ = 1** only the
    question counts; at λ = 0 only the profile, whatever was asked. This notebook measures every λ
    at once: the share of a question’s **evidence** (the turns that people marked as needed for
    the answer) among the first **K** memories found, *evidence recall@K*.

    A best λ below 1 is not yet a success. It may be chance (so there are intervals and tests), and
    it may have nothing to do with the person: if somebody else’s profile, or a random direction,
    helps as much, it is not personalisation (so there are controls). At the end stands **α**, the
    balance of two rewards in training. Nothing here asks a language model
    unless you choose a rewriter, and nothing leaves this machine.
    """)
    return


@app.cell(hide_code=True)
def _():
    linked = started_at(
        ("sweep-lambda",),
        reads=(
            "dataset",
            "run",
            "against",
            "memories",
            "embedder",
            "retriever",
            "prior",
            "lam",
            "k",
            "boost",
            "rewriter",
        ),
    )
    workspace, view, embedder, remarks = linked.start
    remarked(remarks)
    return embedder, linked, view, workspace


@app.cell(hide_code=True)
def _(view, workspace):
    dataset_choice = mo.ui.dropdown(dataset_names(workspace), value=view.dataset, label="Data set")
    return (dataset_choice,)


@app.cell(hide_code=True)
def _(dataset_choice):
    dataset_name = dataset_choice.value
    return (dataset_name,)


@app.cell(hide_code=True)
def _(dataset_name, view, workspace):
    dataset = store.load(workspace, dataset_name)
    start, fitting_remarks = usable_in(view, dataset)
    remarked(fitting_remarks)
    return dataset, start


@app.cell(hide_code=True)
def _(dataset, embedder, start, workspace):
    there = kinds_there(workspace, dataset, embedder)
    kinds = list(dict.fromkeys([*there, start.memories]))
    memories_choice = mo.ui.dropdown(kinds, value=start.memories, label="What a memory is")
    return kinds, memories_choice


@app.cell(hide_code=True)
def _(memories_choice):
    memories = memories_choice.value
    return (memories,)


@app.cell(hide_code=True)
def _(start):
    retriever_names = {
        "meaning (dense vectors)": "dense",
        "meaning and words (hybrid)": "hybrid",
        "the paper’s dual path (ppro)": "ppro",
    }
    retriever_choice = mo.ui.dropdown(
        retriever_names,
        value=next(
            (n for n, r in retriever_names.items() if r == start.retriever),
            next(iter(retriever_names)),
        ),
        label="Retriever: ranks by",
    )
    return (retriever_choice,)


@app.cell(hide_code=True)
def _(retriever_choice):
    retriever = retriever_choice.value
    return (retriever,)


@app.cell(hide_code=True)
def _(kinds, start):
    prior_names = [name for name in priors_for(kinds) if name != "none"]
    prior_choice = mo.ui.dropdown(
        prior_names,
        value=start.prior if start.prior in prior_names else "profile",
        label="Prior: the profile enters as",
    )
    return (prior_choice,)


@app.cell(hide_code=True)
def _(prior_choice):
    prior = prior_choice.value
    return (prior,)


@app.cell(hide_code=True)
def _(dataset, linked):
    parts_of_data = ["all", *sorted(set(dataset.splits.values()))]
    linked_split = linked.run.manifest["identity"]["split"] if linked.run else "all"
    split_choice = mo.ui.dropdown(
        parts_of_data,
        value=linked_split if linked_split in parts_of_data else "all",
        label="Part of the data",
    )
    return (split_choice,)


@app.cell(hide_code=True)
def _(split_choice):
    split = split_choice.value
    return (split,)


@app.cell(hide_code=True)
def _(start, workspace):
    wordings = rewriter_labels(workspace)
    rewriter_choice = mo.ui.dropdown(
        {label: name for name, label in wordings.items()},
        value=wordings[start.rewriter],
        label="Searched with",
    )
    return rewriter_choice, wordings


@app.cell(hide_code=True)
def _(rewriter_choice):
    rewriter = rewriter_choice.value
    return (rewriter,)


@app.cell(hide_code=True)
def _(dataset_name, embedder, memories, workspace):
    ready = opens_at_once(workspace, dataset_name, memories, embedder)
    build_button = mo.ui.run_button(label="Build these memories")
    return build_button, ready


@app.cell(hide_code=True)
def _(
    build_button,
    dataset_choice,
    memories,
    memories_choice,
    prior_choice,
    ready,
    retriever_choice,
    split_choice,
):
    mo.vstack(
        [
            mo.hstack([dataset_choice, memories_choice, split_choice], wrap=True, justify="start"),
            mo.hstack([retriever_choice, prior_choice], wrap=True, justify="start"),
            *([] if ready or by_model(memories) else [build_button]),
        ]
    )
    return


@app.cell(hide_code=True)
def _(rewriter_choice, wordings):
    # Without a checkpoint there is nothing to choose from.
    rewriter_choice if len(wordings) > 1 else empty(
        "Searched with: the question as asked. A rewriter, which words it as what a memory would "
        "say, is trained with:",
        TRAINED_BY,
    )
    return


@app.cell(hide_code=True)
def _(build_button, dataset_name, memories, ready, view, workspace):
    mo.stop(
        not ready and (by_model(memories) or not pressed(build_button)),
        empty(
            "These memories are not built yet. Run this, or press the button where there is one:",
            build_command(dataset_name, memories, view.embedder),
            "About 200 turns a second on two cores; it happens once.",
        ),
    )
    with progress("Building the memories") as tell_build:
        banks = open_banks(workspace, dataset_name, memories, view.embedder, tell_build)
    return (banks,)


@app.cell(hide_code=True)
def _(banks, rewriter, split, workspace):
    try:
        to_ask = questions_to_ask(workspace, banks, rewriter, split)
    except WorkbenchError as unusable:
        mo.stop(True, empty(f"This rewriter cannot be used: {unusable}"))
    ask_button = mo.ui.run_button(label=f"Put {to_ask:,} questions into the rewriter’s words")
    ask_button if to_ask else None
    return ask_button, to_ask


@app.cell(hide_code=True)
def _(ask_button, banks, rewriter, split, to_ask, workspace):
    mo.stop(
        to_ask and not pressed(ask_button),
        mo.md("*Press the button: the rewriter is a model on this machine, some seconds a batch.*"),
    )
    with progress("The rewriter reads the questions") as tell_words:
        words = worded(workspace, banks, rewriter, split, progress=tell_words)
    not_worded = words[1]["not_rewritten"] if words else {}
    empty(
        f"The rewriter gave no words for {sum(not_worded.values()):,} questions, which are "
        f"searched with as asked: {not_worded}"
    ) if not_worded else None
    return (words,)


@app.cell(hide_code=True)
def _(banks, split, words, workspace):
    study = study_of(workspace, banks, words, split)
    try:
        small = len(study.questions) <= SMALL
    except UsageError as none_measurable:
        mo.stop(
            True,
            empty(
                f"{none_measurable}, so nothing can be found or missed. Data with evidence:",
                "workbench data get locomo",
            ),
        )
    return small, study


@app.cell(hide_code=True)
def _(banks, prior, retriever, start, study, workspace):
    recipe = start.but(
        memories=banks.manifest["memories"], retriever=retriever, prior=prior
    ).recipe()
    lams = tuple(sorted({*GRID, start.lam}))
    # Enough of them to see the map's shape, few enough to hit one with a pointer.
    told_ks = sorted({*plan_for(banks).ks, start.k})
    with progress("Ranking every question at every λ"):
        report = lambda_sweep(study, recipe, lams, told_ks)
    sweep_run = load_run(workspace, report["run"])
    return lams, recipe, report, sweep_run, told_ks


@app.cell(hide_code=True)
def _(start):
    get_cell, set_cell = mo.state((start.lam, start.k))
    return get_cell, set_cell


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The whole map

    Left, recall at every λ and K; right, what that λ adds to the question alone (blue) or takes
    from it (red-brown). Under the pointer stand the numbers with their 95 % intervals. **Click a
    cell** to see, below, which questions it changes; or choose λ and K from the lists.
    """)
    return


@app.cell(hide_code=True)
def _(sweep_run, told_ks, workspace):
    surface_figure = surface_of(workspace, sweep_run, told_ks)
    return (surface_figure,)


@app.cell(hide_code=True)
def _(set_cell, surface_figure):
    def picked(points):
        """Remember the cell that was clicked."""
        if points and {"x", "y"} <= points[0].keys():
            set_cell((float(points[0]["y"]), int(points[0]["x"])))

    surface_plot = mo.ui.plotly(on_screen(surface_figure), on_change=picked)
    framed(surface_plot, surface_figure, 800) if attended() else shown(surface_figure)
    return (surface_plot,)


@app.cell(hide_code=True)
def _(get_cell, lams, set_cell):
    lam_choice = mo.ui.dropdown(
        {f"{one:g}": one for one in lams},
        value=f"{min(lams, key=lambda one: abs(one - get_cell()[0])):g}",
        label="λ",
        on_change=lambda one: set_cell(lambda cell: (one, cell[1])),
    )
    return (lam_choice,)


@app.cell(hide_code=True)
def _(get_cell, set_cell, told_ks):
    k_choice = mo.ui.dropdown(
        {f"{one}": one for one in told_ks},
        value=f"{min(told_ks, key=lambda one: abs(one - get_cell()[1]))}",
        label="K",
        on_change=lambda one: set_cell(lambda cell: (cell[0], one)),
    )
    return (k_choice,)


@app.cell(hide_code=True)
def _(k_choice, lam_choice):
    mo.hstack([mo.md("**The cell looked at:**"), lam_choice, k_choice], wrap=True, justify="start")
    return


@app.cell(hide_code=True)
def _(lam_choice):
    lam = lam_choice.value
    return (lam,)


@app.cell(hide_code=True)
def _(k_choice):
    k = k_choice.value
    return (k,)


@app.cell(hide_code=True)
def _(lams, recipe, study):
    with progress("Ranking every question"):
        ranking = ranked(study, recipe, lams)
    return (ranking,)


@app.cell(hide_code=True)
def _(k, lam, ranking):
    here = ranking.at(lam, k)
    counts = {name: int((here["effect"] == name).sum()) for name in ("helped", "hurt", "unchanged")}
    mo.md(
        f"At **λ = {lam:g}, K = {k}** recall is **{here['having'].mean():.3f}**; the question "
        f"alone has {here['without'].mean():.3f}. Of {len(here):,} questions, {counts['helped']:,} "
        f"find more of their evidence, {counts['hurt']:,} find less, and {counts['unchanged']:,} "
        "the same."
    )
    return (here,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Questions that flip

    These are the questions whose recall differs between that cell and the question alone, the
    largest changes first; the rank is that of the evidence found first. To see one with its two
    rankings: `workbench ask DATASET QUESTION-ID`.
    """)
    return


@app.cell(hide_code=True)
def _(here, k, lam, ranking, rewriter, sweep_run):
    flips = flipped(here)
    flips_figure = flips_at(ranking, sweep_run, lam, k, rewriter)
    shown(flips_figure)
    return flips, flips_figure


@app.cell(hide_code=True)
def _(flips):
    mo.Html(
        listing(
            flips,
            {
                "question": "id",
                "text": "question",
                "user": "asked by",
                "category": "category",
                "without": "recall alone",
                "having": "with prior",
                "rank_without": "rank alone",
                "rank_having": "rank with prior",
            },
            most=12,
        )
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## One K, every λ

    The curve is one column of the map, with its interval. The **plateau** holds the λ that are
    shown to be less than one point of recall below the best: a best λ without its plateau says
    little. The paper reports its best at λ = 0.8, with its own embedder and profiles, which are
    not available: that mark is a reference, not our finding.
    """)
    return


@app.cell(hide_code=True)
def _(k, sweep_run, workspace):
    lambda_figure = lambda_curve(workspace, sweep_run, k)
    shown(lambda_figure)
    return (lambda_figure,)


@app.cell(hide_code=True)
def _(dataset_name, linked, workspace):
    kept_sweeps = named_runs(workspace, ("sweep-lambda",), dataset_name)
    linked_sweeps = {one.id for one in (linked.run, linked.against) if one}
    sweeps_choice = mo.ui.multiselect(
        kept_sweeps,
        value=[label for label, one in kept_sweeps.items() if one in linked_sweeps],
        max_selections=3,
        label="Beside it, sweeps that are kept (`workbench sweep lambda`)",
        full_width=True,
    )
    sweeps_choice if kept_sweeps else None
    return (sweeps_choice,)


@app.cell(hide_code=True)
def _(sweeps_choice):
    kept_beside = sweeps_choice.value
    return (kept_beside,)


@app.cell(hide_code=True)
def _(k, kept_beside, sweep_run, workspace):
    others = [load_run(workspace, one) for one in kept_beside if one != sweep_run.id]
    named_sweeps = {
        "the sweep above": sweep_run,
        **{f"{apart(one.manifest, sweep_run.manifest)[0]} ({one.id[:8]})": one for one in others},
    }
    # Without others nothing may stop here: under Jupyter a stop is an error.
    if others:
        sweeps_figure = lambda_curves(workspace, named_sweeps, k)
        sweeps_shown = shown(sweeps_figure)
    else:
        sweeps_shown = None
    sweeps_shown
    return (sweeps_figure,)


@app.cell(hide_code=True)
def _(k, report):
    said = [
        *lambda_words(report, k),
        *report["notes"],
        "λ was chosen on the questions that it is tested on. Where the data has parts, choose it "
        "on one and test it on another.",
    ]
    mo.Html("<ul>" + "".join(f"<li>{literal(line)}</li>" for line in said) + "</ul>")
    return


@app.cell(hide_code=True)
def _(k, ranking, rewriter, sweep_run):
    effect_figure = shares_by_lam(ranking, sweep_run, k, rewriter)
    shown(effect_figure)
    return (effect_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Is it the person?

    The same rule with other people’s profiles. *other-user*: somebody else’s; *everyone*: all
    people’s at once; *shuffled*: the facts dealt out at random; *random*: a direction that means
    nothing. Only where one’s own profile beats all of them is a gain personalisation. The bars
    test each control against one’s own profile at the λ and K of the cell chosen above.
    """)
    return


@app.cell(hide_code=True)
def _(small):
    controls_button = mo.ui.run_button(label="Measure the controls")
    None if small else controls_button
    return (controls_button,)


@app.cell(hide_code=True)
def _(controls_button, k, lam, recipe, report, small, study):
    mo.stop(
        not (small or pressed(controls_button)),
        mo.md("Press *Measure the controls*: five profiles at every λ, some seconds."),
    )
    # At λ = 1 no profile enters: there the best λ that uses one is tested.
    control_lam = lam if lam < 1 else report["test_vs_query_only"][str(k)]["lam"]
    control_recipe = msgspec.structs.replace(recipe, lam=control_lam)
    control_report, control_frame, refused = None, None, ""
    try:
        with progress("Ranking with other people’s profiles"):
            control_report = control_sweep(study, control_recipe, (k,))
            control_frame = control_lines(study, control_recipe, (k,))
    except UsageError as without_controls:
        refused = str(without_controls)
    mo.Html(f"<p><b>{literal(refused or control_report['verdict'])}</b></p>")
    return control_frame, control_lam, control_report


@app.cell(hide_code=True)
def _(control_frame, control_report, k, rewriter, workspace):
    if control_report is None:
        control_lines_shown = None
    else:
        control_lines_figure = control_curves(
            control_frame, load_run(workspace, control_report["run"]), k, rewriter
        )
        control_lines_shown = shown(control_lines_figure)
    control_lines_shown
    return (control_lines_figure,)


@app.cell(hide_code=True)
def _(control_report, k, workspace):
    if control_report is None:
        controls_shown = None
    else:
        controls_figure = control_bars(workspace, load_run(workspace, control_report["run"]), k)
        controls_shown = shown(controls_figure)
    controls_shown
    return (controls_figure,)


@app.cell(hide_code=True)
def _(dataset_name, workspace):
    landscape_run = latest(workspace, "sweep-alpha", dataset_name)
    return (landscape_run,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## α: what training is paid for

    The paper trains a model that rewrites questions. It is paid twice: for evidence found
    (retrieval) and for answers that match the reference. **R = α · answer + (1 − α) · retrieval**,
    both on one scale; the paper reports its best at **α = 0.2**, a reference. The landscape shows
    what each α would prefer among the same rewrites, without training: it is **chosen by gold**,
    a ceiling, and its best α is not a tuned one.
    """)
    return


@app.cell(hide_code=True)
def _(landscape_run):
    alpha_slider = mo.ui.slider(
        0, 1, 0.05, value=0.2, show_value=True, label="α, the weight of the answer’s reward"
    )
    alpha_slider if landscape_run else None
    return (alpha_slider,)


@app.cell(hide_code=True)
def _(alpha_slider):
    alpha = alpha_slider.value
    return (alpha,)


@app.cell(hide_code=True)
def _(alpha, dataset_name, landscape_run, workspace):
    if landscape_run is None:
        landscape_shown = empty(
            "Not made yet. It scores a few rewrites of each question, by rule or (--llm) by a "
            "model, and takes a minute or more:",
            f"workbench sweep alpha {dataset_name} --mode landscape",
        )
    else:
        alpha_figure = landscape_at(workspace, landscape_run, alpha)
        landscape_shown = shown(alpha_figure)
    landscape_shown
    return (alpha_figure,)


@app.cell(hide_code=True)
def _(alpha, landscape_run, workspace):
    if landscape_run is None or "pool.parquet" not in landscape_run.manifest["files"]:
        choice_shown = None
    else:
        landscape_table = table_of(workspace, landscape_run.id)
        choice_shown = mo.Html(
            f"<p>{literal(choice_words(landscape_run.manifest['report'], landscape_table, alpha))}"
            "</p>"
            + listing(
                landscape_table.changed(alpha),
                {
                    "question": "id",
                    "asked": "as asked",
                    "chosen": "chosen by gold",
                    "recall_asked": "recall, asked",
                    "recall": "chosen",
                    "f1_asked": "F1, asked",
                    "f1": "chosen ",
                },
                most=8,
            )
        )
    choice_shown
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## How training went

    One training’s rewards and validations, step by step, and the checkpoints that it kept: each can
    be chosen above, under *Searched with*. They were chosen on the very questions of the
    validation, so its figures flatter; a fair test searches questions of another part.
    """)
    return


@app.cell(hide_code=True)
def _(dataset_name, workspace):
    trainings = named_runs(workspace, ("train",), dataset_name)
    training_choice = mo.ui.dropdown(
        trainings, value=next(iter(trainings), None), label="Training", full_width=True
    )
    training_choice if len(trainings) > 1 else None
    return (training_choice,)


@app.cell(hide_code=True)
def _(training_choice):
    training = training_choice.value
    return (training,)


@app.cell(hide_code=True)
def _(dataset_name, training, workspace):
    if not training:
        training_shown = empty(
            "Not made yet. The curves of a training stand here; a small model learns on a "
            "processor in minutes:",
            f"workbench train {dataset_name} --preset cpu --model FOLDER",
        )
    else:
        training_figure = training_of(workspace, load_run(workspace, training))
        training_shown = shown(training_figure)
    training_shown
    return (training_figure,)


@app.cell(hide_code=True)
def _(training, workspace):
    if not training:
        training_told = None
    else:
        trained = findings(workspace, training)
        tables = {one.name: one for one in trained.tables}
        training_told = mo.Html(
            "<ul>"
            + "".join(f"<li>{literal(line)}</li>" for line in trained.lead)
            + "</ul>"
            + "".join(
                f'<p style="margin-top:1em"><b>{literal(tables[name].title)}</b></p>'
                + listing(tables[name].frame, headings, most=40)
                for name, headings in TRAINED.items()
            )
        )
    training_told
    return (tables,)


@app.cell(hide_code=True)
def _(sweep_run):
    empty(
        "The sweep above is a run kept in the workspace. All of it in one offline file:",
        f"workbench export {sweep_run.id} --to report.html",
    )
    return


if __name__ == "__main__":
    app.run()
