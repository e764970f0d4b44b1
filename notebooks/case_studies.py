import marimo

__generated_with = "0.25.0"
app = marimo.App(width="medium", app_title="Case studies")


@app.cell(hide_code=True)
def _():
    import marimo as mo
    import msgspec
    import polars as pl

    from workbench.answer_one import answer_both
    from workbench.ask import asking, told
    from workbench.case_card import card, card_name, facts_of
    from workbench.cases import RULES, choose, compare
    from workbench.cells import Study
    from workbench.components import ladder, parts, split
    from workbench.datasets import store
    from workbench.effects import GRID, ranked
    from workbench.escaped import literal
    from workbench.excerpt import excerpt, listing
    from workbench.figures import component_ladder, rank_movement, rank_split, score_parts
    from workbench.inspection import context
    from workbench.library import is_built, open_banks
    from workbench.metrics import exclusion
    from workbench.notebook import options, pressed, progress, remarked, shown, started
    from workbench.passport import passport_of_question
    from workbench.traces import found
    from workbench.usable import dataset_names, priors_for, usable_in

    workspace, sane, embedder, remarks = started(
        reads=(
            "dataset",
            "question",
            "memories",
            "embedder",
            "retriever",
            "prior",
            "lam",
            "k",
            "boost",
        )
    )
    return (
        GRID,
        RULES,
        Study,
        answer_both,
        asking,
        card,
        card_name,
        choose,
        compare,
        component_ladder,
        context,
        dataset_names,
        embedder,
        excerpt,
        exclusion,
        facts_of,
        found,
        is_built,
        ladder,
        listing,
        literal,
        mo,
        msgspec,
        open_banks,
        options,
        parts,
        passport_of_question,
        pl,
        pressed,
        priors_for,
        progress,
        rank_movement,
        rank_split,
        ranked,
        remarked,
        remarks,
        sane,
        score_parts,
        shown,
        split,
        store,
        told,
        usable_in,
        workspace,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # One question at a time

    A mean over a thousand questions hides what happens to any one of them. Here one question is
    opened: which memories are found for it, where its **evidence** stands (the turns that hold the
    answer), and what moved it there.

    Memories are ranked by how near they are to the question in meaning. A **profile** of the person
    who asks can be mixed in, and **λ** is how much weight the question keeps: at λ = 1 only the
    question counts, at λ = 0 only the profile. Rank 1 is found first. Questions are chosen by a
    rule over the whole data set, never by hand, so you see the worst as well as the best.
    """)
    return


@app.cell(hide_code=True)
def _(remarked, remarks, sane, store, usable_in, workspace):
    fitting, more_doubts = usable_in(sane, store.load(workspace, sane.dataset))
    remarked([*remarks, *more_doubts])
    return (fitting,)


@app.cell(hide_code=True)
def _(dataset_names, mo, fitting, workspace):
    dataset_choice = mo.ui.dropdown(
        dataset_names(workspace), value=fitting.dataset, label="Data set"
    )
    dataset_choice
    return (dataset_choice,)


@app.cell(hide_code=True)
def _(dataset_choice):
    dataset_name = dataset_choice.value
    return (dataset_name,)


@app.cell(hide_code=True)
def _(mo, options, fitting):
    retrievers = {
        "dense: nearness in meaning alone": "dense",
        "ppro: the paper’s, with dimensions and semantic memories": "ppro",
        "hybrid: nearness in meaning, and shared words": "hybrid",
    }
    # Nothing was asked for: the retriever with most components to look at.
    first_retriever = fitting.retriever if options() else "ppro"
    retriever_choice = mo.ui.dropdown(
        retrievers,
        value=next((k for k, v in retrievers.items() if v == first_retriever), None)
        or next(iter(retrievers)),
        label="Retriever",
        full_width=True,
    )
    retriever_choice
    return (retriever_choice,)


@app.cell(hide_code=True)
def _(retriever_choice):
    retriever = retriever_choice.value
    return (retriever,)


@app.cell(hide_code=True)
def _(dataset_name, mo, priors_for, fitting, store, workspace):
    kinds = ["turns", "facts"]
    if store.load(workspace, dataset_name).observations:
        kinds.append("observations")
    priors = [name for name in priors_for(kinds) if name != "none"]
    prior_choice = mo.ui.dropdown(
        priors,
        value=fitting.prior if fitting.prior in priors else "profile",
        label="Prior (profile: the person’s profile; the others: variants and controls)",
    )
    prior_choice
    return (prior_choice,)


@app.cell(hide_code=True)
def _(prior_choice):
    prior = prior_choice.value
    return (prior,)


@app.cell(hide_code=True)
def _(GRID, mo, fitting):
    lams = sorted({*GRID, fitting.lam})
    lam_slider = mo.ui.slider(
        steps=lams,
        value=fitting.lam,
        show_value=True,
        debounce=True,
        label="λ, the question’s weight",
    )
    lam_slider
    return lam_slider, lams


@app.cell(hide_code=True)
def _(lam_slider):
    lam = lam_slider.value
    return (lam,)


@app.cell(hide_code=True)
def _(mo, fitting):
    k_number = mo.ui.number(
        1, 200, value=min(fitting.k, 200), label="K, how many memories are read"
    )
    k_number
    return (k_number,)


@app.cell(hide_code=True)
def _(k_number):
    k = int(k_number.value)
    return (k,)


@app.cell(hide_code=True)
def _(dataset_name, embedder, fitting, is_built, mo, store, workspace):
    ready = dataset_name == store.SAMPLE or is_built(
        workspace, dataset_name, fitting.memories, embedder
    )
    build_button = mo.ui.run_button(label="Build the memories")
    None if ready else build_button
    return build_button, ready


@app.cell(hide_code=True)
def _(
    build_button,
    dataset_name,
    literal,
    mo,
    open_banks,
    pressed,
    progress,
    ready,
    fitting,
    workspace,
):
    mo.stop(
        not (ready or pressed(build_button)),
        mo.Html(
            "<p>The memories of this data set are not built yet. Press the button, or run:</p><pre>"
            + literal(f"workbench build {dataset_name} --memories {fitting.memories}")
            + "</pre><p>About 200 turns a second on two cores; it happens once.</p>"
        ),
    )
    with progress("Building the memories") as tell_building:
        banks = open_banks(
            workspace, dataset_name, fitting.memories, fitting.embedder, tell_building
        )
    return (banks,)


@app.cell(hide_code=True)
def _(Study, banks, exclusion, k, lams, mo, prior, progress, ranked, retriever, fitting, workspace):
    mo.stop(
        all(exclusion(question) for question in banks.dataset.questions),
        mo.md(
            "This data set has no question whose evidence is known, so there are no cases. LoCoMo "
            "has 1,536 of them: `workbench data get locomo`"
        ),
    )
    recipe = fitting.but(retriever=retriever, prior=prior, k=k).recipe()
    with progress("Ranking every question") as tell_ranking:
        study = Study(workspace, banks, progress=tell_ranking)
        everything = ranked(study, recipe, lams)
    return everything, recipe, study


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Choose a case

    The rule decides which questions are listed. *Largest gain* and *largest loss* compare the rank
    of the first piece of evidence with the profile and without it. *Confused in time*: the question
    asks about a time, and something alike, said on another day, stands in front. *Disputed answer*:
    an audit says that the data set’s own answer is wrong.
    """)
    return


@app.cell(hide_code=True)
def _(RULES, mo):
    rule_choice = mo.ui.radio(
        {one.title: name for name, one in RULES.items()},
        value=RULES["gain"].title,
        label="Rule",
    )
    rule_choice
    return (rule_choice,)


@app.cell(hide_code=True)
def _(rule_choice):
    rule = rule_choice.value
    return (rule,)


@app.cell(hide_code=True)
def _(RULES, choose, everything, k, lam, listing, literal, mo, rule):
    cases = choose(everything, rule, lam, k)
    mo.Html(
        f"<p>{literal(RULES[rule].said[:1].upper() + RULES[rule].said[1:])}.</p>"
        + listing(
            cases,
            {
                "question": "question",
                "user": "asked as",
                "text": "text",
                "rank_without": "rank without",
                "rank_having": "with the prior",
                "places": "places gained",
            },
        )
        if len(cases)
        else f"<p>{literal(RULES[rule].missing)}</p>"
    )
    return (cases,)


@app.cell(hide_code=True)
def _(cases, dataset_name, everything, fitting, k, lam, mo, remarked):
    rows = {row["question"]: row for row in everything.at(lam, k).iter_rows(named=True)}
    listed = [one for one in dict.fromkeys([fitting.question, *cases["question"]]) if one in rows]
    labels = {f"{one} · {rows[one]['user']} · {rows[one]['text']}"[:110]: one for one in listed}
    mo.stop(not labels, mo.md("No case fits this rule here: choose another one."))
    case_choice = mo.ui.dropdown(
        labels, value=next(iter(labels)), searchable=True, label="Case", full_width=True
    )
    lacking = fitting.question and fitting.question not in rows and fitting.dataset == dataset_name
    unshown = [f"question {fitting.question!r:.80} has no known evidence here; it is not shown"]
    mo.vstack([case_choice, *([remarked(unshown)] if lacking else [])])
    return (case_choice,)


@app.cell(hide_code=True)
def _(case_choice):
    case = case_choice.value
    return (case,)


@app.cell(hide_code=True)
def _(asking, banks, case, lam, mo, msgspec, recipe, study, told):
    mo.stop(case is None, mo.md("Choose a case above."))
    weighed = msgspec.structs.replace(recipe, lam=lam)
    one = asking(banks, case, weighed, sources=study.sources(weighed))
    asked = told(one)
    return asked, one


@app.cell(hide_code=True)
def _(case, cases, compare, everything, facts_of, found, k, lam, listing, literal, mo, one, pl):
    reasons = dict(cases.select("question", "why").iter_rows())
    why = reasons.get(case, "It was asked for by name.")
    before, after = one.hits()
    moved = compare(found(before[:k]), found(after[:k]))
    counted = ", ".join(f"{n} {what}" for what, n in moved["change"].value_counts(sort=True).rows())
    mo.Html(
        f'<p style="font-size:1.4em;font-weight:600">{literal(one.text)}</p><p>'
        f"{literal(why)}</p>"
        + listing(
            pl.DataFrame(list(facts_of(one.question).items()), schema=["what", "is"], orient="row"),
            {"what": "", "is": ""},
        )
        + f"<p>With the profile at λ = {lam:g}, of the first {k} memories: {literal(counted)}.</p>"
        + "".join(f"<p><small>{literal(note)}</small></p>" for note in one.notes)
    )
    return (why,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Components, one at a time

    The ranking starts from the question alone. Each step to the right adds one component to those
    before it. A step up is help, a step down is harm, and what stays below the dashed line is not
    read by whoever answers. (*Rank without* in the list above leaves out the profile alone; the
    question alone has no dimensions or shared words either.)
    """)
    return


@app.cell(hide_code=True)
def _(asked, component_ladder, k, ladder, one, passport_of_question, shown):
    passport = passport_of_question(asked, one.banks.dataset.name)
    ladder_figure = component_ladder(ladder(one), passport, k)
    shown(ladder_figure)
    return ladder_figure, passport


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Which part moves it

    A score is a sum: **λ · question** + **(1 − λ) · profile** + what else the retriever adds. The
    first part alone ranks just as the question does, so everything that moves is the work of the
    other parts. *(The paper’s z = λ e_q + (1 − λ) e_p: λ belongs to the question.)*
    """)
    return


@app.cell(hide_code=True)
def _(mo, one, passport, rank_split, split, shown):
    moves = split(one)
    mo.stop(moves.is_empty(), mo.md("No memory holds this question’s evidence: nothing can move."))
    mo.stop(
        moves["part"].n_unique() < 2,
        mo.md("Nothing but the question speaks here, so nothing moves its evidence."),
    )
    split_figure = rank_split(moves, passport)
    shown(split_figure)
    return (split_figure,)


@app.cell(hide_code=True)
def _(k, one, parts, passport, score_parts, shown):
    parts_figure = score_parts(parts(one, min(k, 10)), passport)
    shown(parts_figure)
    return (parts_figure,)


@app.cell(hide_code=True)
def _(asked, passport, rank_movement, shown):
    first_ten = {name: hits[:10] for name, hits in asked["rankings"].items()}
    movement_figure = rank_movement({**asked, "rankings": first_ten}, passport)
    shown(movement_figure, 900)
    return (movement_figure,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The evidence, where it was said

    The marked turns hold the answer; two turns stand before and after each. In a case that is
    confused in time, the memory that is mistaken for the evidence follows.
    """)
    return


@app.cell(hide_code=True)
def _(case, cases, context, excerpt, literal, mo, one, pl):
    rivals = cases.filter((pl.col("question") == case) & pl.col("rival").is_not_null())["rival"]
    rival = next((m for m in one.shelf.bank.memories if m.id in rivals.to_list()), None)
    mo.Html(
        excerpt(context(one.banks.dataset, one.scope, one.question.gold.evidence))
        + (
            "<p><b>Mistaken for it</b> (marked here because it is in front, not because it is "
            "right):</p>" + excerpt(context(one.banks.dataset, one.scope, rival.sources, 1))
            if rival
            else ""
        )
    )
    return (rival,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What would be answered?

    An answerer without a language model picks the sentence or date that fits best. It reads either
    ranking and never sees the expected answer. *Answers by a language model, and whether an error
    lies in memory, retrieval or answer, come from a command:*
    `workbench evaluate NAME --answerer llm --llm openai:MODEL`
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    answer_button = mo.ui.run_button(label="Answer it")
    answer_button
    return (answer_button,)


@app.cell(hide_code=True)
def _(answer_both, answer_button, literal, mo, one, pressed):
    mo.stop(not pressed(answer_button), mo.md("*Press the button: it takes a few seconds.*"))
    answers = answer_both(one)
    shown_answers = {
        "by the question alone": answers["without"].text,
        "with the prior": answers["with"].text,
        "expected": one.question.gold.answer,
    }
    mo.Html(
        "<ul>"
        + "".join(
            f"<li>{name}: <b>{literal(said or 'declined', 400)}</b></li>"
            for name, said in shown_answers.items()
        )
        + "</ul>"
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Take it with you

    The card is one HTML file with all of this case: it opens in any browser with the network off,
    and runs no script.
    """)
    return


@app.cell(hide_code=True)
def _(card, card_name, case, mo, one, rival, why):
    card_page = card(one, why, rival.id if rival else None)
    mo.download(
        card_page.encode(),
        filename=card_name(case),
        mimetype="text/html",
        label="Download the card",
    )
    return (card_page,)


if __name__ == "__main__":
    app.run()
