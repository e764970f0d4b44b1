import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Evidence recall")

with app.setup(hide_code=True):
    import marimo as mo

    from workbench.case_answers import question_pairs
    from workbench.ceilings import ceilings
    from workbench.curves import (
        difference,
        gap_words,
        measured,
        missing,
        only,
        plan_for,
    )
    from workbench.datasets import store
    from workbench.errors import UsageError, WorkbenchError
    from workbench.escaped import literal
    from workbench.excerpt import listing
    from workbench.figures import layer_heatmap
    from workbench.grids import layer_sweep
    from workbench.library import build_command, by_model, open_banks
    from workbench.linked_runs import named_runs, started_at
    from workbench.metrics import exclusion
    from workbench.notebook import empty, pressed, progress, remarked, shown
    from workbench.passport import passport_of
    from workbench.prepare import in_split
    from workbench.report.tables import kept_table
    from workbench.rewriters import rewriter_labels
    from workbench.run_list import apart
    from workbench.runs import load_run
    from workbench.scenes.curves import (
        category_curves,
        difference_of,
        dots_of,
        evidence_curves,
        found_curves,
        level_curves,
    )
    from workbench.scenes.words import TRAINED_BY, questions_to_ask, study_of, worded
    from workbench.usable import (
        dataset_names,
        kinds_there,
        opens_at_once,
        priors_for,
        usable_in,
    )

    # More questions than this, and what takes many measurements waits for its button.
    SMALL = 300
    # What sections of the explorer's page on runs are called here.
    KEPT = "Runs that are kept"
    PARTS = {"one run": KEPT, "compare two": KEPT}


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # How much of the evidence is found?

    Somebody asks a question about a long conversation. A few of its turns hold what is needed to
    answer: the **evidence**, marked by people. The retriever looks through all memories and
    returns the best **K** of them. **Evidence recall@K** is the share of the evidence turns that
    these K memories hold, averaged over questions: 1 means that nothing was missed.

    The curves below show it for every K. *Query only* ranks by the question alone. The *prior*
    also pulls the ranking towards the profile of the person who asks; **λ** is the weight of the
    question against that profile (1: the question alone, 0: the profile alone). Bands are 95 %
    intervals: where another sample of conversations could have put the curve. Nothing here asks a
    language model unless you choose a rewriter, and nothing leaves this machine.
    """)
    return


@app.cell(hide_code=True)
def _():
    linked = started_at(
        ("recall",),
        reads=(
            "dataset",
            "run",
            "against",
            "section",
            "question",
            "memories",
            "embedder",
            "retriever",
            "prior",
            "lam",
            "k",
            "boost",
            "category",
            "rewriter",
        ),
    )
    workspace, view, embedder, remarks = linked.start
    remarked(remarks, view.section, PARTS)
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
        "words (BM25)": "lexical",
        "meaning and words (hybrid)": "hybrid",
        "the paper’s dual path (ppro)": "ppro",
    }
    retriever_choice = mo.ui.dropdown(
        retriever_names,
        value=next((n for n, r in retriever_names.items() if r == start.retriever), None)
        or next(iter(retriever_names)),
        label="Retriever: ranks by",
    )
    return retriever_choice, retriever_names


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
def _(start):
    lam_slider = mo.ui.slider(
        0,
        1,
        0.05,
        value=round(20 * start.lam) / 20,
        show_value=True,
        debounce=True,
        label="λ, the weight of the question",
    )
    return (lam_slider,)


@app.cell(hide_code=True)
def _(lam_slider):
    lam = lam_slider.value
    return (lam,)


@app.cell(hide_code=True)
def _():
    measure_choice = mo.ui.dropdown(
        {
            "the share of its evidence (recall)": "recall",
            "whether any of it is found": "any",
            "whether all of it is found": "all",
        },
        value="the share of its evidence (recall)",
        label="Count for each question",
    )
    return (measure_choice,)


@app.cell(hide_code=True)
def _(measure_choice):
    measure = measure_choice.value
    return (measure,)


@app.cell(hide_code=True)
def _(linked):
    levels = {"turns": "turn", "whole sessions": "session"}
    linked_level = linked.run.manifest["identity"]["level"] if linked.run else "turn"
    level_choice = mo.ui.dropdown(
        levels,
        value=next(n for n, one in levels.items() if one == linked_level),
        label="Evidence is",
    )
    return (level_choice,)


@app.cell(hide_code=True)
def _(level_choice):
    level = level_choice.value
    return (level,)


@app.cell(hide_code=True)
def _(dataset, start):
    every = "all questions"
    categories = sorted({q.category for q in dataset.questions if exclusion(q) is None})
    category_choice = mo.ui.dropdown(
        {every: "", **{c: c for c in categories}},
        value=start.category if start.category in categories else every,
        label="Category of question",
    )
    return (category_choice,)


@app.cell(hide_code=True)
def _(category_choice):
    category = category_choice.value
    return (category,)


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
    category_choice,
    dataset_choice,
    lam_slider,
    level_choice,
    measure_choice,
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
            mo.hstack([retriever_choice, prior_choice, lam_slider], wrap=True, justify="start"),
            mo.hstack([measure_choice, level_choice, category_choice], wrap=True, justify="start"),
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
def _(banks, category, level, split, start):
    asked = [
        question
        for question in in_split(banks, split)
        if exclusion(question, level=level) is None and category in ("", question.category)
    ]
    mo.stop(
        not asked,
        empty(
            "No question here has evidence that could be found or missed. Choose another "
            "category, part or level; or get data that has it:",
            "workbench data get locomo",
        ),
    )

    def setting(retriever, prior, lam):
        """A recipe of the chosen memories."""
        kind = banks.manifest["memories"]
        return start.but(memories=kind, retriever=retriever, prior=prior, lam=lam).recipe()

    return (setting,)


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
def _(banks, category, lam, level, prior, retriever, setting, split, words, workspace):
    plan = plan_for(banks, level, split=split)
    with progress("Ranking every question") as tell_pair:
        every_guided = measured(
            workspace, banks, setting(retriever, prior, lam), plan, tell_pair, words
        )
        every_alone = measured(
            workspace, banks, setting(retriever, "none", 1.0), plan, tell_pair, words
        )
    guided, alone = only(every_guided, category), only(every_alone, category)
    return alone, every_alone, every_guided, guided, plan


@app.cell(hide_code=True)
def _(lam, prior, retriever):
    if retriever == "lexical":
        guided_name = "words alone"
    else:
        guided_name = f"{prior} prior, λ = {lam:g}" if lam < 1 else "λ = 1"
    alone_name = "query only"
    return alone_name, guided_name


@app.cell(hide_code=True)
def _(alone, alone_name, category, guided, guided_name, level, measure):
    both = (
        {alone_name: alone} if alone.id == guided.id else {guided_name: guided, alone_name: alone}
    )
    curve_figure = evidence_curves(both, measure, level, category=category)
    shown(curve_figure)
    return (curve_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Does the prior find more?

    The same questions are ranked both ways, so they are compared question by question. Above the
    line the prior finds more; where the band crosses the line, no difference is shown. The table
    tests some K: **p** is how often chance alone would give a difference this large; the last
    column raises it for having looked at several K (Holm). In the paper, query-only and guided
    retrieval are level at small K and the profile pulls ahead as K grows: that is its finding on
    its own memories, not ours.
    """)
    return


@app.cell(hide_code=True)
def _(alone, guided, measure):
    gap = difference(guided, alone, measure)
    return (gap,)


@app.cell(hide_code=True)
def _(alone, alone_name, category, guided, guided_name, measure):
    difference_figure = difference_of((guided, alone), (guided_name, alone_name), measure, category)
    shown(difference_figure)
    return (difference_figure,)


@app.cell(hide_code=True)
def _(alone_name, gap, guided_name, start):
    mo.Html(f"<p>{literal(gap_words(gap, (guided_name, alone_name), start.k))}</p>")
    return


@app.cell(hide_code=True)
def _(alone_name, gap, guided_name):
    headings = {
        "k": "K",
        "a": guided_name,
        "b": alone_name,
        "difference": "difference",
        "lo": "from",
        "hi": "to (95 %)",
        "p": "p",
        "p_holm": "p (Holm)",
        "n": "questions",
    }
    mo.Html(listing(gap.tests, headings))
    return


@app.cell(hide_code=True)
def _(rewriter, wordings):
    beside_choice = mo.ui.dropdown(
        {label: name for name, label in wordings.items() if name != rewriter},
        value=next((label for name, label in wordings.items() if name != rewriter), None),
        label="Beside it, the same questions searched with",
    )
    mo.vstack(
        [
            mo.md(r"""
    ## In whose words?

    A rewriter puts each question into words that a matching message might contain. The questions,
    the memories, the retriever, the prior and λ are the same in both curves; only the words differ,
    so they are compared question by question. A rewriter is fairly tested on a part of the data
    that it was neither trained nor chosen on.
    """),
            beside_choice,
        ]
    ) if rewriter else None
    return (beside_choice,)


@app.cell(hide_code=True)
def _(beside_choice):
    beside = beside_choice.value or ""
    return (beside,)


@app.cell(hide_code=True)
def _(banks, beside, rewriter, split, workspace):
    try:
        beside_to_ask = questions_to_ask(workspace, banks, beside, split) if rewriter else 0
    except WorkbenchError as unusable_beside:
        mo.stop(True, empty(f"This rewriter cannot be used: {unusable_beside}"))
    beside_button = mo.ui.run_button(label=f"Put {beside_to_ask:,} questions into those words")
    beside_button if beside_to_ask else None
    return beside_button, beside_to_ask


@app.cell(hide_code=True)
def _(
    banks,
    beside,
    beside_button,
    beside_to_ask,
    every_guided,
    guided_name,
    lam,
    plan,
    prior,
    retriever,
    rewriter,
    setting,
    split,
    wordings,
    workspace,
):
    mo.stop(beside_to_ask and not pressed(beside_button), mo.md("*Press the button.*"))
    # Without a rewriter nothing may stop here: under Jupyter a stop is an error.
    if not rewriter:
        word_runs, word_names = (), ("", "")
    else:
        with progress("The questions beside them, in their words") as tell_beside:
            other_words = worded(workspace, banks, beside, split, tell_beside)
            every_beside = measured(
                workspace, banks, setting(retriever, prior, lam), plan, tell_beside, other_words
            )
        word_runs = (every_guided, every_beside)
        word_names = (wordings[rewriter], wordings[beside])
    mo.md(f"Both with: {guided_name}.") if rewriter else None
    return word_names, word_runs


@app.cell(hide_code=True)
def _(category, level, measure, word_names, word_runs):
    if not word_runs:
        words_shown = None
    else:
        words_figure = evidence_curves(
            dict(zip(word_names, word_runs, strict=True)), measure, level, "words", category
        )
        words_shown = shown(words_figure)
    words_shown
    return (words_figure,)


@app.cell(hide_code=True)
def _(category, measure, start, word_names, word_runs):
    if not word_runs:
        word_pair_shown = None
    else:
        word_pair_shown, words_difference_figure, word_rows = pair_of(
            word_runs, word_names, (measure, category), (start.k, start.question)
        )
    word_pair_shown
    return word_rows, words_difference_figure


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Which retriever, which prior?

    The retriever compares meaning (vectors), words (BM25), or both. The second figure keeps the
    retriever chosen above and changes what the profile is: its text, the facts in it that are
    nearest to the question, everything the person said, and, as a control, a random direction. A
    prior that does no better than the random one has nothing to do with the person. (Words alone
    use no profile, so there all priors are one line.)
    """)
    return


@app.cell(hide_code=True)
def _(banks, lam, plan, prior, retriever, retriever_names, setting, words, workspace):
    by_retriever = {name: setting(which, prior, lam) for name, which in retriever_names.items()}
    by_prior = {
        "none (query only)": setting(retriever, "none", 1.0),
        **{
            f"{name}, λ = {lam:g}": setting(retriever, name, lam)
            for name in dict.fromkeys([prior, "profile", "facts", "speaker", "random"])
        },
    }
    every_recipe = [*by_retriever.values(), *by_prior.values()]
    to_measure = missing(workspace, banks, every_recipe, plan, words)
    at_once = not to_measure or len(banks.dataset.questions) <= SMALL
    compare_button = mo.ui.run_button(label=f"Compare ({to_measure} settings to measure)")
    None if at_once else compare_button
    return at_once, by_prior, by_retriever, compare_button


@app.cell(hide_code=True)
def _(at_once, banks, by_prior, by_retriever, compare_button, plan, words, workspace):
    mo.stop(
        not (at_once or pressed(compare_button)),
        mo.md("Press *Compare*: every setting ranks every question, some seconds each, once."),
    )
    with progress("Ranking every question under every setting") as tell_every:
        retriever_runs = {
            name: measured(workspace, banks, one, plan, tell_every, words)
            for name, one in by_retriever.items()
        }
        prior_runs = {
            name: measured(workspace, banks, one, plan, tell_every, words)
            for name, one in by_prior.items()
        }
    return prior_runs, retriever_runs


@app.cell(hide_code=True)
def _(category, level, measure, retriever_runs):
    retriever_figure = evidence_curves(retriever_runs, measure, level, "retriever", category)
    shown(retriever_figure)
    return (retriever_figure,)


@app.cell(hide_code=True)
def _(category, level, measure, prior_runs):
    prior_figure = evidence_curves(prior_runs, measure, level, "prior", category)
    shown(prior_figure)
    return (prior_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Which questions?

    Categories say what a question asks for: one turn (*single-hop*), several turns together
    (*multi-hop*), a date or an order (*temporal*), or knowledge besides the dialogue
    (*open-domain*). The first figure follows each with the prior; the second sets both rankings
    side by side at one K.
    """)
    return


@app.cell(hide_code=True)
def _(every_guided, level, measure):
    category_figure = category_curves(every_guided, measure, level)
    shown(category_figure)
    return (category_figure,)


@app.cell(hide_code=True)
def _(plan, start):
    k_choice = mo.ui.dropdown(
        [str(k) for k in plan.ks],
        value=str(min(plan.ks, key=lambda k: abs(k - start.k))),
        label="K of the figure below",
    )
    k_choice
    return (k_choice,)


@app.cell(hide_code=True)
def _(k_choice):
    k = int(k_choice.value)
    return (k,)


@app.cell(hide_code=True)
def _(alone_name, every_alone, every_guided, guided_name, k, measure):
    by_category_figure = dots_of({guided_name: every_guided, alone_name: every_alone}, measure, k)
    shown(by_category_figure)
    return (by_category_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What counts as found?

    One turn among several may be enough for an answer, or all may be needed: *any found* and *all
    found* are the shares of questions for which some, or every, turn of evidence is among the K
    memories. And it may be enough to find the right session instead of the very turn: there K
    counts sessions, so the two lines of the second figure spend differently.
    """)
    return


@app.cell(hide_code=True)
def _(category, guided, level):
    found_figure = found_curves(guided, level, category)
    shown(found_figure)
    return (found_figure,)


@app.cell(hide_code=True)
def _(banks, category, lam, measure, prior, retriever, setting, split, words, workspace):
    with progress("Ranking by turn and by session") as tell_level:
        level_runs = {
            f"K {name}": measured(
                workspace,
                banks,
                setting(retriever, prior, lam),
                plan_for(banks, one, split=split),
                tell_level,
                words,
            )
            for one, name in (("turn", "memories, by turn"), ("session", "sessions, by session"))
        }
    level_figure = level_curves(level_runs, measure, category)
    shown(level_figure)
    return (level_figure,)


@app.cell(hide_code=True)
def _(dataset):
    audited = sum(question.audited is not None for question in dataset.questions)
    _without = (
        "This data set has no audit, so only the first ceiling is drawn. LoCoMo has a public one: "
        "`workbench import locomo10.json --audit audit_errors.json`."
    )
    _having = (
        f"{audited:,} of its {len(dataset.questions):,} questions were corrected by an audit; the "
        "second line scores the same ranking against the corrected evidence."
    )
    mo.md(f"""
    ## How high can it go?

    Two ceilings bound what any retriever can reach. *Held by a memory*: evidence that no memory
    holds can't be found. *Confirmed by the audit*: people who marked the evidence made mistakes;
    where an audit corrects them, a retriever that finds the true evidence, and only that, scores
    no more than this against the original marks. All categories count here.
    {_having if audited else _without}
    """)
    return (audited,)


@app.cell(hide_code=True)
def _(
    audited,
    banks,
    every_guided,
    lam,
    level,
    plan,
    prior,
    retriever,
    setting,
    split,
    words,
    workspace,
):
    audit_runs = {"original evidence": every_guided}
    if audited:
        with progress("Ranking against the audited evidence") as tell_audit:
            audit_runs["audited evidence"] = measured(
                workspace,
                banks,
                setting(retriever, prior, lam),
                plan_for(banks, level, "audited", split),
                tell_audit,
                words,
            )
    limits = ceilings(banks, plan)
    audit_figure = evidence_curves(audit_runs, "recall", level, limits=limits)
    shown(audit_figure)
    return audit_figure, limits


@app.cell(hide_code=True)
def _(limits):
    mo.Html(
        listing(
            limits,
            {
                "ceiling": "ceiling of evidence recall",
                "mean": "at most",
                "lo": "from",
                "hi": "to (95 %)",
                "n": "questions",
            },
        )
    )
    return


@app.cell(hide_code=True)
def _(banks):
    mo.md(f"""
    ## Two layers of memory

    The paper keeps two layers: **K<sub>E</sub>** single statements or turns (*episodic*) and
    **K<sub>S</sub>** groups of them that say nearly the same (*semantic*). Each cell is the
    evidence recall of both together. Going right or up always costs more reading; the question
    is what it buys. The paper reports that both help, with diminishing returns, and the semantic
    layer more steeply at first; its own cells are not available.

    Groups here: {sum(map(len, banks.semantic.values())):,} semantic memories, made by rule, beside
    {sum(map(len, banks.episodic.values())):,} episodic ones. Where there are few, they can add
    little.
    """)
    return


@app.cell(hide_code=True)
def _(banks):
    layers_at_once = len(banks.dataset.questions) <= SMALL
    layers_button = mo.ui.run_button(label="Measure the layers")
    None if layers_at_once else layers_button
    return layers_at_once, layers_button


@app.cell(hide_code=True)
def _(banks, lam, layers_at_once, layers_button, prior, setting, split, words, workspace):
    mo.stop(
        not (layers_at_once or pressed(layers_button)),
        mo.md("Press *Measure the layers*: a few seconds."),
    )
    try:
        with progress("Ranking both layers") as tell_layers:
            layers_study = study_of(workspace, banks, words, split, tell_layers)
            layers_report = layer_sweep(layers_study, setting("ppro", prior, lam))
    except UsageError as only_sessions:
        layers_shown = mo.Html(f"<p>{literal(str(only_sessions))} by turn</p>")
    else:
        layers_run = load_run(workspace, layers_report["run"])
        layers_figure = layer_heatmap(
            kept_table(workspace, layers_run.id, "layers"), passport_of(layers_run)
        )
        layers_shown = shown(layers_figure)
    layers_shown
    return (layers_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Runs that are kept

    Whatever was measured in this workspace, here or by `workbench recall`, is a *run* that can be
    opened again, and compared with another one question by question. A saved view of the explorer
    that names runs opens them here.
    """)
    return


@app.cell(hide_code=True)
def _(dataset_name, linked, workspace):
    kept_runs = named_runs(workspace, ("recall",), dataset_name)
    kept_labels = {name: label for label, name in kept_runs.items()}
    kept_choice = mo.ui.dropdown(
        kept_runs,
        value=kept_labels.get(linked.run.id) if linked.run else None,
        allow_select_none=True,
        searchable=True,
        label="Run",
        full_width=True,
    )
    kept_choice
    return kept_choice, kept_labels, kept_runs


@app.cell(hide_code=True)
def _(kept_choice):
    kept_run = kept_choice.value
    return (kept_run,)


@app.cell(hide_code=True)
def _(kept_labels, kept_runs, linked):
    against_choice = mo.ui.dropdown(
        kept_runs,
        value=kept_labels.get(linked.against.id) if linked.against else None,
        allow_select_none=True,
        searchable=True,
        label="against",
        full_width=True,
    )
    against_choice
    return (against_choice,)


@app.cell(hide_code=True)
def _(against_choice):
    kept_against = against_choice.value
    return (kept_against,)


@app.function(hide_code=True)
def pair_of(runs, names, counted, asked):
    """Two runs compared: what is shown, the figure, and every question of both."""
    measure, category = counted
    k, question = asked
    try:
        figure = difference_of(runs, names, measure, category)
        gap = difference(*(only(run, category) for run in runs), measure)
    except UsageError as incomparable:
        return mo.Html(f"<p>{literal(str(incomparable))}</p>"), None, None
    at = min(gap.tests["k"], key=lambda one: (abs(one - k), one))
    rows = question_pairs(*runs, f"{measure}@{at}", question)
    first = ", the view’s own first" if question else ""
    headings = {"question": "question", "category": "category", "a": names[0], "b": names[1]}
    told = (
        f"<p>{literal(gap_words(gap, names, k))}</p>"
        f"<p>The questions that differ most{first} ({literal(measure)}@{at}):</p>"
        + listing(rows, {**headings, "difference": "difference"}, most=8)
    )
    return mo.vstack([shown(figure), mo.Html(told)]), figure, rows


@app.cell(hide_code=True)
def _(category, kept_against, kept_run, measure, workspace):
    # Without a run nothing may stop here: under Jupyter a stop is an error.
    one_run = load_run(workspace, kept_run) if kept_run else None
    other_run = load_run(workspace, kept_against) if kept_run and kept_against else None
    if one_run is None:
        pair_names = ("", "")
        kept_shown = mo.md("*Choose a run to see its curve, and another one to compare them.*")
    else:
        manifests = [one.manifest for one in (one_run, other_run) if one]
        pair_names = apart(*manifests) if other_run else ("this run", "")
        kept_pair = dict(zip(pair_names, (one_run, other_run), strict=True))
        kept_figure = evidence_curves(
            {name: one for name, one in kept_pair.items() if one},
            measure,
            one_run.manifest["identity"]["level"],
            category=category,
        )
        kept_shown = shown(kept_figure)
    kept_shown
    return kept_figure, one_run, other_run, pair_names


@app.cell(hide_code=True)
def _(category, measure, one_run, other_run, pair_names, start, view):
    if other_run is None:
        pair_shown = None
    else:
        pair_shown, kept_difference_figure, pair_rows = pair_of(
            (one_run, other_run), pair_names, (measure, category), (start.k, view.question)
        )
    pair_shown
    return kept_difference_figure, pair_rows


@app.cell(hide_code=True)
def _(alone, guided):
    empty(
        "Each line above is a run kept in the workspace. One offline file of the first, and the "
        "comparison of the first two:",
        f"workbench export {guided.id} --to report.html\nworkbench compare {guided.id} {alone.id}",
    )
    return


if __name__ == "__main__":
    app.run()
