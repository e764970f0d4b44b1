import marimo

__generated_with = "0.25.0"
app = marimo.App(width="medium", app_title="Case studies")


with app.setup(hide_code=True):
    import marimo as mo
    import msgspec
    import polars as pl

    from workbench.answer_one import answer_both
    from workbench.ask import asking
    from workbench.case_answers import SAID, TELLING, lost_cases, told_by, told_of
    from workbench.case_card import card, card_name, facts_of
    from workbench.case_words import WORDED, own_words, word_cases, word_effects
    from workbench.cases import RULES, choose, compare
    from workbench.datasets import store
    from workbench.effects import GRID, ranked
    from workbench.errors import WorkbenchError
    from workbench.escaped import literal
    from workbench.excerpt import excerpt, listing
    from workbench.inspection import context
    from workbench.library import build_command, by_model, open_banks
    from workbench.linked_runs import named_runs, started_at
    from workbench.metrics import exclusion
    from workbench.notebook import empty, options, pressed, progress, remarked, shown
    from workbench.rewriters import rewriter_labels
    from workbench.scenes.questions import ladder_of, movement_of, parts_of, split_of
    from workbench.scenes.words import TRAINED_BY, questions_to_ask, study_of, worded
    from workbench.traces import found
    from workbench.usable import dataset_names, opens_at_once, priors_for, usable_in

    # What the section of the explorer's page on runs is called here.
    PARTS = {"errors": "What was answered?"}
    LOST = "lost"  # the rule that is a class of error


@app.cell(hide_code=True)
def _():
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
def _():
    linked = started_at(
        TELLING,
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
            "run",
            "against",
            "lost",
            "section",
            "rewriter",
        ),
    )
    workspace, sane, embedder, remarks = linked.start
    return embedder, linked, remarks, sane, workspace


@app.cell(hide_code=True)
def _(remarks, sane, workspace):
    fitting, more_doubts = usable_in(sane, store.load(workspace, sane.dataset))
    remarked([*remarks, *more_doubts], sane.section, PARTS)
    return (fitting,)


@app.cell(hide_code=True)
def _(fitting, workspace):
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
def _(fitting):
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
def _(dataset_name, fitting, workspace):
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
def _(fitting):
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
def _(fitting):
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
def _(fitting, workspace):
    wordings = rewriter_labels(workspace)
    rewriter_choice = mo.ui.dropdown(
        {label: name for name, label in wordings.items()},
        value=wordings[fitting.rewriter],
        label="Searched with",
        full_width=True,
    )
    return rewriter_choice, wordings


@app.cell(hide_code=True)
def _(rewriter_choice):
    rewriter = rewriter_choice.value
    return (rewriter,)


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
def _(dataset_name, embedder, fitting, workspace):
    ready = opens_at_once(workspace, dataset_name, fitting.memories, embedder)
    build_button = mo.ui.run_button(label="Build the memories")
    None if ready or by_model(fitting.memories) else build_button
    return build_button, ready


@app.cell(hide_code=True)
def _(build_button, dataset_name, ready, fitting, workspace):
    mo.stop(
        not ready and (by_model(fitting.memories) or not pressed(build_button)),
        mo.Html(
            "<p>The memories of this data set are not built yet. Press the button, or run:</p><pre>"
            + literal(build_command(dataset_name, fitting.memories, fitting.embedder))
            + "</pre><p>About 200 turns a second on two cores; it happens once.</p>"
        ),
    )
    with progress("Building the memories") as tell_building:
        banks = open_banks(
            workspace, dataset_name, fitting.memories, fitting.embedder, tell_building
        )
    return (banks,)


@app.cell(hide_code=True)
def _(banks, rewriter, workspace):
    try:
        to_ask = questions_to_ask(workspace, banks, rewriter)
    except WorkbenchError as unusable:
        mo.stop(True, empty(f"This rewriter cannot be used: {unusable}"))
    ask_button = mo.ui.run_button(label=f"Put {to_ask:,} questions into the rewriter’s words")
    ask_button if to_ask else None
    return ask_button, to_ask


@app.cell(hide_code=True)
def _(ask_button, banks, rewriter, to_ask, workspace):
    mo.stop(
        to_ask and not pressed(ask_button),
        mo.md("*Press the button: the rewriter is a model on this machine, some seconds a batch.*"),
    )
    with progress("The rewriter reads the questions") as tell_words:
        words = worded(workspace, banks, rewriter, progress=tell_words)
    not_worded = words[1]["not_rewritten"] if words else {}
    empty(
        f"The rewriter gave no words for {sum(not_worded.values()):,} questions, which are "
        f"searched with as asked: {not_worded}"
    ) if not_worded else None
    return (words,)


@app.cell(hide_code=True)
def _(rewriter, wordings):
    # What figures and cards name; the words themselves stand in them.
    wording = wordings[rewriter] if rewriter else ""
    return (wording,)


@app.cell(hide_code=True)
def _(banks, k, lams, prior, retriever, fitting, words, workspace):
    mo.stop(
        all(exclusion(question) for question in banks.dataset.questions),
        mo.md(
            "This data set has no question whose evidence is known, so there are no cases. LoCoMo "
            "has 1,536 of them: `workbench data get locomo`"
        ),
    )
    recipe = fitting.but(retriever=retriever, prior=prior, k=k).recipe()
    with progress("Ranking every question") as tell_ranking:
        study = study_of(workspace, banks, words, progress=tell_ranking)
        everything = ranked(study, recipe, lams)
        plainly = study_of(workspace, banks, progress=tell_ranking)
        as_asked = ranked(plainly, recipe, lams) if words else everything
    return as_asked, everything, recipe, study


@app.cell(hide_code=True)
def _(as_asked, everything, k, lam, words):
    changed = word_effects(as_asked, everything, lam, k) if words else None
    return (changed,)


@app.cell(hide_code=True)
def _(words):
    mo.md("## Which questions the rewriter helps and hurts") if words else None
    return


@app.cell(hide_code=True)
def _(changed, k, lam, wording):
    sides = {} if changed is None else {name: word_cases(changed, name) for name in WORDED}
    columns_of_words = {
        "question": "question",
        "text": "as asked",
        "searched": "searched with",
        "without": "recall as asked",
        "having": "in those words",
        "rank_without": "rank as asked",
        "rank_having": "in those words ",
    }
    mo.Html(
        f"<p>{literal(wording)}: at "
        f"λ = {lam:g}, K = {k} recall is {changed['having'].mean():.3f} in its words and "
        f"{changed['without'].mean():.3f} as asked. Of {len(changed):,} questions it helps "
        f"{len(sides['helped']):,} and hurts {len(sides['hurt']):,}. Whether that is more than "
        "chance, the notebook on evidence recall tests.</p>"
        + "".join(
            f'<p style="margin-top:1em"><b>{literal(WORDED[name][0].capitalize())}</b></p>'
            + (listing(side, columns_of_words, most=5) or "<p>None.</p>")
            for name, side in sides.items()
        )
    ) if sides else None
    return (sides,)


@app.cell(hide_code=True)
def _(dataset_name, linked, workspace):
    tellers = named_runs(workspace, TELLING, dataset_name)
    teller_labels = {name: label for label, name in tellers.items()}
    answering = named_runs(workspace, ("evaluate",), dataset_name)
    run_choice = mo.ui.dropdown(
        tellers,
        value=teller_labels.get(linked.run.id) if linked.run else next(iter(answering), None),
        allow_select_none=True,
        searchable=True,
        label="A run that is kept: it says what was answered, or where evidence was lost",
        full_width=True,
    )
    run_choice if tellers else None
    return run_choice, teller_labels, tellers


@app.cell(hide_code=True)
def _(run_choice):
    run_name = run_choice.value
    return (run_name,)


@app.cell(hide_code=True)
def _(linked, teller_labels, tellers):
    against_choice = mo.ui.dropdown(
        tellers,
        value=teller_labels.get(linked.against.id) if linked.against else None,
        allow_select_none=True,
        searchable=True,
        label="and another one beside it",
        full_width=True,
    )
    against_choice if len(tellers) > 1 else None
    return (against_choice,)


@app.cell(hide_code=True)
def _(against_choice):
    against_name = against_choice.value
    return (against_name,)


@app.cell(hide_code=True)
def _(against_name, banks, linked, run_name, workspace):
    told_runs = told_by(
        workspace, banks, [one for one in (run_name, against_name) if one], linked.judge
    )
    return (told_runs,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Choose a case

    The rule decides which questions are listed. *Largest gain* and *largest loss* compare the rank
    of the first piece of evidence with the profile and without it. *Confused in time*: the question
    asks about a time, and something alike, said on another day, stands in front. *Disputed answer*:
    an audit says that the data set’s own answer is wrong. Where a run is chosen above, its *class
    of error* is a rule, too: an answer is wrong because what it needs was never remembered, or not
    found, or found and not used.
    """)
    return


@app.cell(hide_code=True)
def _(fitting, sides, told_runs):
    rules = {one.title: name for name, one in RULES.items()}
    rules |= {WORDED[name][0]: name for name in sides}
    if told_runs:
        rules["class of error in the run above"] = LOST
    asked_rule = LOST if fitting.lost and told_runs else next(iter(sides), "gain")
    rule_choice = mo.ui.radio(
        rules, value=next(title for title, one in rules.items() if one == asked_rule), label="Rule"
    )
    rule_choice
    return (rule_choice,)


@app.cell(hide_code=True)
def _(rule_choice):
    rule = rule_choice.value
    return (rule,)


@app.cell(hide_code=True)
def _(fitting, told_runs):
    counts = told_runs[0].frame["class"].drop_nulls().value_counts(sort=True) if told_runs else []
    class_labels = {f"{name} ({n:,})": name for name, n in counts.rows()} if told_runs else {}
    by_class = {name: label for label, name in class_labels.items()}
    class_choice = mo.ui.dropdown(
        class_labels,
        value=by_class.get(fitting.lost, next(iter(class_labels), None)),
        label="Class of error",
    )
    return (class_choice,)


@app.cell(hide_code=True)
def _(class_choice, rule):
    class_choice if rule == LOST else None
    return


@app.cell(hide_code=True)
def _(class_choice):
    lost = class_choice.value
    return (lost,)


@app.cell(hide_code=True)
def _(as_asked, everything, k, lam, lost, rule, sides, told_runs):
    asked_questions = as_asked.study.questions
    # A rule on words compares those; every other one the prior with its absence.
    rank_names = ("rank as asked", "in those words")
    if rule not in sides:
        rank_names = ("rank without", "with the prior")
    if rule in sides:
        cases, rule_said = sides[rule], WORDED[rule][1]
        rule_missing = "No question is: choose another K, or another rewriter."
    elif rule == LOST:
        cases = own_words(lost_cases(everything, told_runs[0].frame, lost, lam, k), asked_questions)
        rule_said = f"{lost}: {SAID[lost]}"
        rule_missing = "No question whose evidence is known is of this class in the run above."
    else:
        cases = choose(everything, rule, lam, k, own=asked_questions)
        rule_said, rule_missing = RULES[rule].said, RULES[rule].missing
    mo.Html(
        f"<p>{literal(rule_said[:1].upper() + rule_said[1:])}.</p>"
        + listing(
            cases,
            {
                "question": "question",
                "user": "asked as",
                "text": "text",
                "rank_without": rank_names[0],
                "rank_having": rank_names[1],
                "places": "places gained",
            },
        )
        if len(cases)
        else f"<p>{literal(rule_missing)}</p>"
    )
    return (cases,)


@app.cell(hide_code=True)
def _(as_asked, cases, dataset_name, fitting, k, lam):
    rows = {row["question"]: row for row in as_asked.at(lam, k).iter_rows(named=True)}
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
def _(banks, case, lam, recipe, study, words):
    mo.stop(case is None, mo.md("Choose a case above."))
    weighed = msgspec.structs.replace(recipe, lam=lam)
    worded_texts = {q.id: q.text for q in words[0].dataset.questions} if words else {}
    one = asking(
        banks, case, weighed, sources=study.sources(weighed), searched=worded_texts.get(case)
    )
    return (one,)


@app.cell(hide_code=True)
def _(case, cases, k, lam, one, wording):
    reasons = dict(cases.select("question", "why").iter_rows())
    why = reasons.get(case, "It was asked for by name.")
    before, after = one.hits()
    moved = compare(found(before[:k]), found(after[:k]))
    counted = ", ".join(f"{n} {what}" for what, n in moved["change"].value_counts(sort=True).rows())
    mo.Html(
        f'<p style="font-size:1.4em;font-weight:600">{literal(one.text)}</p>'
        + (f"<p>Searched with: <b>{literal(one.query.text)}</b></p>" if wording else "")
        + f"<p>{literal(why)}</p>"
        + listing(
            pl.DataFrame(list(facts_of(one.question).items()), schema=["what", "is"], orient="row"),
            {"what": "", "is": ""},
        )
        + f"<p>With the profile at λ = {lam:g}, of the first {k} memories: {literal(counted)}.</p>"
        + "".join(f"<p><small>{literal(note)}</small></p>" for note in one.notes)
    )
    return (why,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Components, one at a time

    The ranking starts from the question alone. Each step to the right adds one component to those
    before it. A step up is help, a step down is harm, and what stays below the dashed line is not
    read by whoever answers. (*Rank without* in the list above leaves out the profile alone; the
    question alone has no dimensions or shared words either.)
    """)
    return


@app.cell(hide_code=True)
def _(k, one, wording):
    ladder_figure = ladder_of(one, k, wording)
    shown(ladder_figure)
    return (ladder_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Which part moves it

    A score is a sum: **λ · question** + **(1 − λ) · profile** + what else the retriever adds. The
    first part alone ranks just as the question does, so everything that moves is the work of the
    other parts. *(The paper’s z = λ e_q + (1 − λ) e_p: λ belongs to the question.)*
    """)
    return


@app.cell(hide_code=True)
def _(one, wording):
    split_figure = split_of(one, wording)
    mo.stop(
        split_figure is None,
        mo.md(
            "Nothing moves this question’s evidence: no memory holds it, or nothing but the "
            "question speaks here."
        ),
    )
    shown(split_figure)
    return (split_figure,)


@app.cell(hide_code=True)
def _(k, one, wording):
    parts_figure = parts_of(one, min(k, 10), wording)
    shown(parts_figure)
    return (parts_figure,)


@app.cell(hide_code=True)
def _(one, wording):
    movement_figure = movement_of(one, 10, wording)
    shown(movement_figure, 900)
    return (movement_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The evidence, where it was said

    The marked turns hold the answer; two turns stand before and after each. In a case that is
    confused in time, the memory that is mistaken for the evidence follows.
    """)
    return


@app.cell(hide_code=True)
def _(case, cases, one):
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
def _():
    mo.md(r"""
    ## What was answered?

    What the runs chosen above say of this question: the answer, its **class** (right, or where it
    was lost), its F1 against the expected answer, and what a language model that judged it holds of
    it, if one did. A judge’s verdict is an opinion, not the truth.
    """)
    return


@app.cell(hide_code=True)
def _(case, dataset_name, told_runs):
    told_rows = told_of(case, told_runs)
    columns = {
        "run": "run",
        "answer": "answer",
        "class": "class",
        "f1": "F1",
        **({"verdict": "judged", "judge": "by"} if told_rows["judge"].count() else {}),
    }
    empty(
        "No run that was chosen above has this question. These answer it: by rule, or with a "
        "language model (a server’s, or one of this machine). The second is judged like this:",
        f"workbench evaluate {dataset_name}\n"
        f"workbench evaluate {dataset_name} --answerer llm --llm openai:MODEL\n"
        "workbench judge RUN --llm openai:MODEL",
    ) if told_rows.is_empty() else mo.Html(
        listing(told_rows, columns)
        + "".join(
            f"<p><small>{literal(one)}: {literal(SAID[one])}.</small></p>"
            for one in told_rows["class"].drop_nulls().unique(maintain_order=True)
        )
    )
    return (told_rows,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ### Answered now, from either ranking

    An answerer without a language model picks the sentence or date that fits best. It reads either
    ranking and never sees the expected answer.
    """)
    return


@app.cell(hide_code=True)
def _():
    answer_button = mo.ui.run_button(label="Answer it")
    answer_button
    return (answer_button,)


@app.cell(hide_code=True)
def _(answer_button, one):
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
def _():
    mo.md(r"""
    ## Take it with you

    The card is one HTML file with all of this case: it opens in any browser with the network off,
    and runs no script.
    """)
    return


@app.cell(hide_code=True)
def _(case, one, rival, told_rows, why, wording):
    card_page = card(one, why, rival.id if rival else None, said=told_rows, rewriter=wording)
    mo.download(
        card_page.encode(),
        filename=card_name(case),
        mimetype="text/html",
        label="Download the card",
    )
    return (card_page,)


if __name__ == "__main__":
    app.run()
