import marimo

__generated_with = "0.25.0"
app = marimo.App(width="medium", app_title="Personalised retrieval, taught")


@app.cell(hide_code=True)
def _():
    import marimo as mo
    import msgspec
    import polars as pl

    from workbench import lesson, toy_lesson
    from workbench.ask import asking
    from workbench.cells import Study
    from workbench.datasets import store
    from workbench.effects import GRID, ranked
    from workbench.errors import UsageError
    from workbench.escaped import literal
    from workbench.excerpt import excerpt, listing
    from workbench.grids import control_sweep
    from workbench.inspection import context
    from workbench.library import open_banks
    from workbench.notebook import opened, pressed, progress, remarked, shown
    from workbench.scenes.lesson import askers_of, control_of, hurt_of, plane_of, scatter_of, toy_of
    from workbench.schema import Recipe

    workspace, view, remarks = opened(reads=("dataset", "question", "lam"))
    if view.dataset != store.SAMPLE:
        remarks.append("this lesson is about the sample; another data set is not carried over")
    recipe = Recipe(prior="profile", lam=0.8, k=10)

    def shown_check(check):
        kind = {None: "neutral", True: "success", False: "warn"}[check.right]
        return mo.callout(mo.Html(literal(check.said)), kind=kind)

    return (
        GRID,
        Study,
        UsageError,
        askers_of,
        asking,
        context,
        control_of,
        control_sweep,
        excerpt,
        hurt_of,
        lesson,
        listing,
        literal,
        mo,
        msgspec,
        open_banks,
        pl,
        plane_of,
        pressed,
        progress,
        ranked,
        recipe,
        remarked,
        remarks,
        scatter_of,
        shown,
        shown_check,
        store,
        toy_lesson,
        toy_of,
        view,
        workspace,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # Same words, different people

    *A lesson of about 25 minutes, with seven exercises. It needs no network and no other data.*

    Two friends chat for a year. Later each asks a machine: **“What am I training for?”** The words
    are the same and the right answers are not. Can the machine do better if it knows a little about
    who is asking? You will see how that works, watch it help, and watch it hurt.

    The people are invented, and come with the workbench. Every number below, and every right answer
    to an exercise, is computed from their messages while you look.
    """)
    return


@app.cell(hide_code=True)
def _(remarked, remarks):
    remarked(remarks)
    return


@app.cell(hide_code=True)
def _(Study, open_banks, progress, ranked, recipe, store, workspace):
    with progress("Reading the conversations") as tell:
        banks = open_banks(workspace, store.SAMPLE, progress=tell)
    study = Study(workspace, banks)
    everything = ranked(study, recipe)
    effects = everything.at(recipe.lam, recipe.k)
    dialogues = banks.dataset.dialogues
    return banks, dialogues, effects, everything, study


@app.cell(hide_code=True)
def _(banks, dialogues, mo):
    mo.md(f"""
    ## 1 · One question, several people  *(4 min)*

    There are {len(dialogues)} pairs of friends and {sum(len(d.turns) for d in dialogues)} messages.
    The machine remembers every message as a **memory**. Asked a question, it turns the words into
    an *arrow* (a list of {banks.embedder.dim} numbers) whose direction stands for their meaning,
    and looks for the memories whose arrows point most nearly the same way. How near is the
    **cosine**: 1 is the same direction, 0 is no relation. The nearest memory has **rank 1**. Only
    the first 10 are read, so an answer at rank 11 is as good as lost.

    The memory that holds the right answer is the **evidence**. Choose a question:
    """)
    return


@app.cell(hide_code=True)
def _(everything, lesson, mo, view):
    askers = lesson.same_words(everything)
    linked_words = [
        text for text, those in askers.items() if view.question in {q.id for q in those}
    ]
    words_choice = mo.ui.dropdown(
        list(askers),
        value=next(iter([*linked_words, *askers])),
        label="The words",
        full_width=True,
    )
    words_choice
    return askers, words_choice


@app.cell(hide_code=True)
def _(words_choice):
    words = words_choice.value
    return (words,)


@app.cell(hide_code=True)
def _(askers, banks, listing, mo, pl, words):
    said = {
        (dialogue.scope, turn.id): turn.text
        for dialogue in banks.dataset.dialogues
        for turn in dialogue.turns
    }
    mo.Html(
        listing(
            pl.DataFrame(
                {
                    "who": [question.people[0] for question in askers[words]],
                    "answer": [question.gold.answer for question in askers[words]],
                    "evidence": [
                        said[question.scope, question.gold.evidence[0]]
                        for question in askers[words]
                    ],
                }
            ),
            {"who": "who asks", "answer": "right answer", "evidence": "the message that tells it"},
        )
    )
    return


@app.cell(hide_code=True)
def _(askers, askers_of, effects, everything, pl, recipe, words, shown):
    asked_here = effects.filter(pl.col("question").is_in([q.id for q in askers[words]]))
    words_figure = askers_of(everything, recipe, words)
    shown(words_figure)
    return asked_here, words_figure


@app.cell(hide_code=True)
def _(askers, lesson, mo, words):
    pair = lesson.twins(askers[words])
    mo.stop(pair is None, mo.md("*Choose words that two friends of one chat both use.*"))
    twins_radio = mo.ui.radio(
        [lesson.SAME, lesson.DIFFERENT],
        label="**Exercise 1.** Two friends of one chat ask these words, and no profile is used. "
        "They get …",
    )
    twins_radio
    return pair, twins_radio


@app.cell(hide_code=True)
def _(twins_radio):
    twins_answer = twins_radio.value
    return (twins_answer,)


@app.cell(hide_code=True)
def _(banks, lesson, pair, shown_check, twins_answer):
    twins_check = lesson.check_twins(twins_answer, banks, pair)
    shown_check(twins_check)
    return (twins_check,)


@app.cell(hide_code=True)
def _(asked_here, lesson):
    chosen_row = asked_here.row(
        asked_here["question"].to_list().index(lesson.lifted_most(asked_here)), named=True
    )
    return (chosen_row,)


@app.cell(hide_code=True)
def _(chosen_row, literal, mo):
    rank_number = mo.ui.number(0, 500, step=1, value=0)
    mo.vstack(
        [
            mo.Html(
                "<p><b>Exercise 2.</b> Read it off the figure: by the question alone, at which "
                f"rank does {literal(chosen_row['user'])}’s evidence stand?</p>"
            ),
            rank_number,
        ]
    )
    return (rank_number,)


@app.cell(hide_code=True)
def _(rank_number):
    rank_answer = rank_number.value or None  # 0: not answered
    return (rank_answer,)


@app.cell(hide_code=True)
def _(chosen_row, lesson, rank_answer, shown_check):
    rank_check = lesson.check_rank(rank_answer, chosen_row)
    shown_check(rank_check)
    return (rank_check,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 2 · What the profile knows  *(2 min)*

    A **profile** is a short text about one person, made from what was said. This one is made by
    simple rules, without a language model, and it shows. Read it before you trust it:
    """)
    return


@app.cell(hide_code=True)
def _(askers, chosen_row, mo, view, words):
    people = {f"{q.people[0]} ({q.scope})": q for q in askers[words]}
    named = {q.id: name for name, q in people.items()}
    default_person = named.get(view.question) or named[chosen_row["question"]]
    person_choice = mo.ui.dropdown(people, value=default_person, label="Whose")
    person_choice
    return (person_choice,)


@app.cell(hide_code=True)
def _(person_choice):
    person = person_choice.value
    return (person,)


@app.cell(hide_code=True)
def _(banks, literal, mo, person):
    facts = banks.people[person.scope][person.people[0]].profile.facts
    mo.Html(
        "".join(f"<p>• {literal(fact.text)}</p>" for fact in facts)
        if facts
        else "<p>Nothing: the rules found no lasting fact.</p>"
    )
    return


@app.cell(hide_code=True)
def _(banks, mo):
    mo.md(rf"""
    ## 3 · What the profile does, in one picture  *(6 min)*

    The profile becomes an arrow as well, and the two are mixed:

    **z = λ · question + (1 − λ) · profile**

    Now memories are ranked by how far they reach along **z**. λ is the question’s share: at λ = 1
    the arrow z *is* the question, at λ = 0 it *is* the profile.

    All three arrows lie in one flat plane, and the picture shows every memory’s shadow on it. The
    dashed line stands at right angles to z and goes through the evidence ★. **Whatever lies beyond
    the line is ranked before the evidence.** Nothing about the ranking is lost in this picture; but
    two dots that touch need not be alike, since {banks.embedder.dim - 2} other directions are left
    out.

    Move λ and watch the line turn.
    """)
    return


@app.cell(hide_code=True)
def _(GRID, mo, view):
    nearest_lam = min(GRID, key=lambda step: abs(step - view.lam))
    lam_slider = mo.ui.slider(
        steps=GRID, value=nearest_lam, show_value=True, label="λ, the question’s share"
    )
    lam_slider
    return (lam_slider,)


@app.cell(hide_code=True)
def _(lam_slider):
    lam = lam_slider.value
    return (lam,)


@app.cell(hide_code=True)
def _(
    UsageError,
    asking,
    banks,
    everything,
    lam,
    literal,
    mo,
    msgspec,
    person,
    plane_of,
    recipe,
    shown,
):
    mixed = msgspec.structs.replace(recipe, lam=lam)
    try:
        plane_figure = plane_of(everything, asking(banks, person.id, mixed))
    except UsageError as error:
        mo.stop(True, mo.Html(f"<p>{literal(str(error))}. Choose somebody else above.</p>"))
    shown(plane_figure)
    return (plane_figure,)


@app.cell(hide_code=True)
def _(GRID, mo):
    best_choice = mo.ui.dropdown(
        {f"{step:g}": step for step in GRID},
        label="**Exercise 3.** Which λ lifts this evidence highest? (Try with the slider.)",
    )
    best_choice
    return (best_choice,)


@app.cell(hide_code=True)
def _(best_choice):
    best_answer = best_choice.value
    return (best_answer,)


@app.cell(hide_code=True)
def _(best_answer, everything, lesson, person, shown_check):
    best_check = lesson.check_best_lam(best_answer, everything, person.id)
    shown_check(best_check)
    return (best_check,)


@app.cell(hide_code=True)
def _(lesson, mo):
    alone_radio = mo.ui.radio(
        [lesson.SAME, lesson.DIFFERENT],
        label="**Exercise 4.** At λ = 0 the same person asks two different questions. The person "
        "gets …",
    )
    alone_radio
    return (alone_radio,)


@app.cell(hide_code=True)
def _(alone_radio):
    alone_answer = alone_radio.value
    return (alone_answer,)


@app.cell(hide_code=True)
def _(alone_answer, banks, lesson, person, recipe, shown_check, study):
    other_question = next(
        q for q in study.questions if q.people == person.people and q.text != person.text
    )
    alone_check = lesson.check_profile_alone(alone_answer, banks, recipe, (person, other_question))
    shown_check(alone_check)
    return (alone_check,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 4 · When it helps, and when it hurts  *(4 min)*

    One lucky question proves nothing. Here is every question of the sample that has evidence, at
    λ = 0.8, the value that the paper recommends. Point at a dot to read its question.
    """)
    return


@app.cell(hide_code=True)
def _(everything, recipe, scatter_of, shown):
    scatter_figure = scatter_of(everything, recipe)
    shown(scatter_figure)
    return (scatter_figure,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **Exercise 5.** Find one question that the profile helps, and one that it hurts. *(A click into
    the field lets you type a few letters of it.)*
    """)
    return


@app.cell(hide_code=True)
def _(effects, mo):
    all_questions = {
        f"{row['question']} · {row['user']} · {row['text']}"[:100]: row["question"]
        for row in effects.iter_rows(named=True)
    }
    helped_choice = mo.ui.dropdown(
        all_questions, searchable=True, label="The profile helps", full_width=True
    )
    helped_choice
    return all_questions, helped_choice


@app.cell(hide_code=True)
def _(helped_choice):
    helped_answer = helped_choice.value
    return (helped_answer,)


@app.cell(hide_code=True)
def _(all_questions, mo):
    hurt_choice = mo.ui.dropdown(
        all_questions, searchable=True, label="The profile hurts", full_width=True
    )
    hurt_choice
    return (hurt_choice,)


@app.cell(hide_code=True)
def _(hurt_choice):
    hurt_answer = hurt_choice.value
    return (hurt_answer,)


@app.cell(hide_code=True)
def _(effects, helped_answer, hurt_answer, lesson, shown_check):
    effects_check = lesson.check_effects(helped_answer, hurt_answer, effects)
    shown_check(effects_check)
    return (effects_check,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **Why does it hurt?** The figure below takes a question apart (the one that you chose as hurt,
    or else the one that is hurt most). Blue is what the question gives to a memory, vermillion what
    the profile gives. A memory about something else entirely can collect more vermillion than the
    evidence, and overtakes it: what a person *often* talks about is not what they ask about *now*.
    """)
    return


@app.cell(hide_code=True)
def _(asking, banks, effects, everything, hurt_answer, hurt_of, pl, recipe, shown):
    by_loss = effects.sort(pl.col("rank_having") - pl.col("rank_without"), nulls_last=True)
    hurt_question = hurt_answer or by_loss.drop_nulls("rank_having")["question"][-1]
    hurt = asking(banks, hurt_question, recipe)
    hurt_figure = hurt_of(everything, hurt)
    shown(hurt_figure)
    return hurt, hurt_figure


@app.cell(hide_code=True)
def _(context, excerpt, hurt, literal, mo):
    mo.Html(
        f"<p><b>{literal(hurt.text)}</b> <small>({literal(' & '.join(hurt.people))})</small></p>"
        + excerpt(context(hurt.banks.dataset, hurt.scope, hurt.question.gold.evidence, 1))
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 5 · Is it really personal?  *(3 min)*

    Mixing in *any* arrow changes the ranking. So a fair test needs **controls**: the same mixture
    with somebody else’s profile, with everyone’s at once, with facts of other people
    drawn at random (*shuffled*), and with an arrow that means nothing (*random*). If those do as
    well, the gain is not about the person.

    The measure is **recall@10**: the share of a question’s evidence among the first 10 memories.
    The whiskers say how sure we may be: with three conversations, not very.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    control_button = mo.ui.run_button(label="Try the controls")
    control_button
    return (control_button,)


@app.cell(hide_code=True)
def _(Study, banks, control_button, control_sweep, mo, pressed, progress, recipe, workspace):
    mo.stop(not pressed(control_button), mo.md("*Press the button: it takes a second.*"))
    with progress("Ranking with other people’s profiles") as tell_controls:
        controls = control_sweep(
            Study(workspace, banks, progress=tell_controls), recipe, (recipe.k,)
        )
    return (controls,)


@app.cell(hide_code=True)
def _(control_of, controls, everything, lesson, recipe, shown):
    control_rows = lesson.control_rows(controls, recipe.k)
    control_figure = control_of(everything, control_rows, recipe)
    shown(control_figure)
    return control_figure, control_rows


@app.cell(hide_code=True)
def _(lesson, mo):
    control_radio = mo.ui.radio(
        list(lesson.VERDICTS),
        label="**Exercise 6.** One’s own profile against somebody else’s: what has been shown?",
    )
    control_radio
    return (control_radio,)


@app.cell(hide_code=True)
def _(control_radio):
    control_answer = control_radio.value
    return (control_answer,)


@app.cell(hide_code=True)
def _(control_answer, control_rows, lesson, pl, shown_check):
    control_check = lesson.check_control(
        control_answer,
        control_rows.row(by_predicate=pl.col("setting") == lesson.SOMEBODY, named=True),
    )
    shown_check(control_check)
    return (control_check,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 6 · Teach the machine to ask better  *(5 min)*

    Instead of mixing arrows, a machine can learn to **rewrite the question** before it searches.
    Nobody tells it how. It tries several rewrites of one question (a *group*), and each is **paid**
    by where the evidence then stands: 1 at the first place, less further down. What was paid better
    than the rest of its own group becomes likelier. That is **GRPO**, *group relative policy
    optimisation*, and the paper trains a language model with it.

    This is a toy of that, small enough to look inside. It chooses among 24 fixed rules, all equally
    likely at first, and learns from the first friends’ questions. The last friends’ questions show
    whether what it learnt is of use to others. The rewards are those of the real training, which
    adds a second one for the answer.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    toy_button = mo.ui.run_button(label="Train the toy")
    toy_button
    return (toy_button,)


@app.cell(hide_code=True)
def _(banks, mo, msgspec, pressed, progress, recipe, toy_button, toy_lesson, workspace):
    mo.stop(not pressed(toy_button), mo.md("*Press the button: some seconds, the first time.*"))
    with progress("Trying every rule on every question"):
        taught = toy_lesson.learnt(
            workspace, banks, msgspec.structs.replace(recipe, prior="none", lam=1.0)
        )
    return (taught,)


@app.cell(hide_code=True)
def _(banks, shown, taught, toy_of):
    toy_figure = toy_of(taught, banks)
    shown(toy_figure)
    return (toy_figure,)


@app.cell(hide_code=True)
def _(listing, mo, taught, toy_lesson):
    mo.Html(
        "<p>What it has come to prefer, and what that pays on average:</p>"
        + listing(
            toy_lesson.rule_rows(taught),
            {
                "rule": "rule",
                "likely": "how likely",
                "trained": "paid, questions trained on",
                "other": "paid, another conversation",
            },
        )
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **One step under the glass.** Eight rewrites of one question were drawn. The **advantage** is
    how much better than its group a rewrite was paid, in units of the group’s own spread; where all
    are paid alike it is zero, and nothing is learnt. The **ratio** says how much likelier the rule
    became. A gain counts up to a ratio of 1.2 only (**clipping**): no single step may change the
    machine’s habits much. And the **KL** measures how far it has come from where it began, which
    costs a little, so that it does not lose its way.
    """)
    return


@app.cell(hide_code=True)
def _(mo, taught):
    step_slider = mo.ui.slider(1, taught.how.steps, value=1, show_value=True, label="step")
    step_slider
    return (step_slider,)


@app.cell(hide_code=True)
def _(step_slider):
    toy_step = step_slider.value
    return (toy_step,)


@app.cell(hide_code=True)
def _(listing, mo, taught, toy_lesson, toy_step):
    group = toy_lesson.group_rows(taught, toy_step)
    mo.Html(
        listing(
            group.with_columns(clipped=group["clipped"].replace_strict({True: "yes", False: "no"})),
            {
                "rewrite": "rewrite",
                "paid": "paid",
                "advantage": "advantage",
                "likely": "likely before",
                "afterwards": "after",
                "ratio": "ratio",
                "objective": "counts as",
                "clipped": "clipped",
                "kl": "KL",
            },
        )
    )
    return (group,)


@app.cell(hide_code=True)
def _(group, mo, toy_lesson):
    gain_choice = mo.ui.dropdown(
        [*dict.fromkeys(group["rewrite"]), toy_lesson.NONE],
        label="**Exercise 7.** Which of these rewrites does its group push up most? (What it comes "
        "to in the end depends on the other groups of the step, too.)",
        full_width=True,
    )
    gain_choice
    return (gain_choice,)


@app.cell(hide_code=True)
def _(gain_choice):
    gain_answer = gain_choice.value
    return (gain_answer,)


@app.cell(hide_code=True)
def _(gain_answer, group, shown_check, toy_lesson):
    gain_check = toy_lesson.check_gain(gain_answer, group)
    shown_check(gain_check)
    return (gain_check,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What to keep  *(1 min)*

    - The words alone cannot tell who is asking; a profile can.
    - Mixing in a profile turns one arrow towards another. It lifts what is near the person, whether
      that answers the question or not.
    - So look at gains *and* losses, and at controls, before you call it personal.

    - A machine can learn to ask better from nothing but what its tries are paid. It learns what is
      paid for, so look at what that is, and at questions that it was not trained on.

    **Look further:** `workbench notebooks case_studies` takes any question apart, and
    `workbench explore` lets you ask your own.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.accordion(
        {
            "For teachers": mo.md(r"""
    - Nothing leaves the machine and nothing is fetched: install once, then teach offline.
    - Parts 1 and 3 carry the lesson; short of time, leave out parts 2, 5 and 6.
    - Exercises 2, 3 and 5 have answers that depend on what was chosen: pairs can compare.
    - A question for the class after part 4: *what would a profile need to know to help here?*
    - A question after part 5: *what would convince you that a gain is personal?*
    """)
        }
    )
    return


if __name__ == "__main__":
    app.run()
