import marimo

__generated_with = "0.25.0"
app = marimo.App(width="medium", app_title="Memory inspection")


with app.setup(hide_code=True):
    import marimo as mo
    import polars as pl

    from workbench.datasets import store
    from workbench.escaped import literal
    from workbench.excerpt import excerpt, listing
    from workbench.extraction_quality import quality
    from workbench.inspection import LAYERS, context, history, memory_table
    from workbench.library import MADE, build_command, by_model, open_banks
    from workbench.memory_map import memory_map, near_duplicates, neighbours
    from workbench.memory_quality import coverage, duplicates, orphans, quality_rows
    from workbench.notebook import empty, pressed, progress, remarked, shown, started
    from workbench.scenes.memories import (
        added,
        added_by,
        covered_by,
        dimensions_of,
        map_of,
        sessions_of,
    )
    from workbench.usable import dataset_names, kinds_there, opens_at_once, usable_in

    # What sections of the explorer's page on a user are called here.
    REMEMBERED = "What is remembered"
    PARTS = {
        **dict.fromkeys(("profile", "memories", "dialogue"), REMEMBERED),
        "map": "A map of the memories",
    }


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # What does it remember?

    A long conversation is too much to search for every question, so it is turned into
    *memories* first. This notebook opens them: what was said when, what was remembered of it,
    which turns a memory rests on, what is there twice, what was lost, and what one more session
    changes. There are three layers:

    - **episodic** memories: single statements or turns, each with the turns that it comes from;
    - **semantic** memories: groups of episodic ones of one person that say nearly the same;
    - the **profile** of each person: lasting facts, tastes, relationships, recurring topics.

    Nothing here asks a language model, and nothing leaves this machine.
    """)
    return


@app.cell(hide_code=True)
def _():
    workspace, view, embedder, remarks = started(
        reads=("dataset", "scope", "user", "memories", "embedder", "search", "turn", "section")
    )
    remarked(remarks, view.section, PARTS)
    return embedder, view, workspace


@app.cell(hide_code=True)
def _(view, workspace):
    dataset_choice = mo.ui.dropdown(dataset_names(workspace), value=view.dataset, label="Data set")
    dataset_choice
    return (dataset_choice,)


@app.cell(hide_code=True)
def _(dataset_choice):
    dataset_name = dataset_choice.value
    return (dataset_name,)


@app.cell(hide_code=True)
def _(dataset_name, view, workspace):
    dataset = store.load(workspace, dataset_name)
    fitting, unfit = usable_in(view, dataset)
    doubts = unfit if dataset_name == view.dataset else []
    remarked(doubts)
    return dataset, fitting


@app.cell(hide_code=True)
def _(dataset, embedder, fitting, view, workspace):
    there = kinds_there(workspace, dataset, embedder)
    kinds = list(dict.fromkeys([*there, fitting.memories]))
    kind_choice = mo.ui.dropdown(
        kinds,
        value=fitting.memories,
        label="An episodic memory is (turns: one turn; facts: a statement made by rules; "
        "observations: one that came with the data; llm: a statement that a language model wrote)",
    )
    unmade = not any(map(by_model, there))
    by_llm = (
        "No language model has made memories of this data set yet. This does, with a model of this "
        "machine or a server’s, and they are offered above:"
    )
    command = build_command(dataset.name, MADE, view.embedder)
    mo.vstack(
        [
            kind_choice,
            *(
                [mo.accordion({"Memories by a language model": empty(by_llm, command)})]
                if unmade
                else []
            ),
        ]
    )
    return (kind_choice,)


@app.cell(hide_code=True)
def _(kind_choice):
    kind = kind_choice.value
    return (kind,)


@app.cell(hide_code=True)
def _(dataset_name, embedder, kind, workspace):
    ready = opens_at_once(workspace, dataset_name, kind, embedder)
    build_button = mo.ui.run_button(label="Build these memories")
    None if ready or by_model(kind) else build_button
    return build_button, ready


@app.cell(hide_code=True)
def _(build_button, dataset_name, kind, ready, view, workspace):
    mo.stop(
        not ready and (by_model(kind) or not pressed(build_button)),
        empty(
            "Not built yet. Run this, or press the button where there is one:",
            build_command(dataset_name, kind, view.embedder),
            "By rules about 200 turns a second on two cores; it happens once.",
        ),
    )
    with progress("Building the memories") as tell:
        banks = open_banks(workspace, dataset_name, kind, view.embedder, tell)
    return (banks,)


@app.cell(hide_code=True)
def _(banks, fitting):
    titles = {d.scope: d.title for d in banks.dataset.dialogues}
    scopes = {f"{s}  {titles[s][:60]}": s for s in banks.dataset.scopes}
    named = {s: label for label, s in scopes.items()}
    mo.stop(
        not scopes,
        mo.md("This data set holds no conversation. Import one: `workbench import FILE`"),
    )
    scope_choice = mo.ui.dropdown(
        scopes,
        value=named.get(fitting.scope, next(iter(scopes))),
        searchable=True,
        label="Conversation, or one user’s whole history",
    )
    scope_choice
    return (scope_choice,)


@app.cell(hide_code=True)
def _(scope_choice):
    scope = scope_choice.value
    return (scope,)


@app.cell(hide_code=True)
def _(banks, fitting, scope):
    people = list(banks.people.get(scope, {}))
    user_choice = mo.ui.dropdown(
        people,
        value=fitting.user if fitting.user in people else None,
        label="Whose memories (none chosen: everybody’s)",
    )
    user_choice
    return (user_choice,)


@app.cell(hide_code=True)
def _(user_choice):
    user = user_choice.value
    return (user,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## When it was said

    Each stem is a session: a stretch of conversation at one time. Its height is the number of
    turns, and the diamond the number of memories that were made of them. A diamond far below the
    end of its stem: little of that session was remembered.
    """)
    return


@app.cell(hide_code=True)
def _(banks, scope):
    sessions = history(banks, scope)
    session_number = mo.ui.number(
        1,
        max(len(sessions), 1),
        value=max(len(sessions), 1),
        label="Session (marked below, and looked into at the end)",
    )
    session_number
    return session_number, sessions


@app.cell(hide_code=True)
def _(session_number):
    chosen_session = int(session_number.value)
    return (chosen_session,)


@app.cell(hide_code=True)
def _(banks, chosen_session, scope):
    timeline_figure = sessions_of(banks, scope, chosen_session)
    shown(timeline_figure)
    return (timeline_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What is remembered

    Choose a layer, search, and choose a memory: below, it is opened in the dialogue it came from.
    Three *dimensions* belong to each episodic memory: **tense** (past, present, future),
    **subjectivity** (a fact or a feeling) and **certainty**. Questions have them, too, and a memory
    whose dimensions agree with the question's is raised a little.
    """)
    return


@app.cell(hide_code=True)
def _(view):
    first_layer = view.section if view.section in LAYERS else LAYERS[0]
    layer_choice = mo.ui.radio(LAYERS, value=first_layer, label="Layer", inline=True)
    layer_choice
    return (layer_choice,)


@app.cell(hide_code=True)
def _(layer_choice):
    layer = layer_choice.value
    return (layer,)


@app.cell(hide_code=True)
def _(view):
    search_box = mo.ui.text(value=view.search, label="Search in their texts")
    search_box
    return (search_box,)


@app.cell(hide_code=True)
def _(search_box):
    words = search_box.value
    return (words,)


@app.cell(hide_code=True)
def _(banks, scope):
    remembered = memory_table(banks, scope)
    return (remembered,)


@app.cell(hide_code=True)
def _(fitting, layer, remembered, scope, user, words):
    wanted_turn = fitting.turn if fitting.scope in ("", scope) else ""
    listed = remembered.filter(
        (pl.col("layer") == layer)
        & ((pl.col("owner") == user) if user else True)
        & pl.col("text").str.to_lowercase().str.contains(words.lower(), literal=True)
    ).sort(pl.col("sources").list.contains(wanted_turn), descending=True, maintain_order=True)
    return (listed,)


@app.cell(hide_code=True)
def _(listed):
    # Dialogue text in a table of marimo's would be links, and pictures that the browser fetches.
    mo.Html(
        f"<p><b>{len(listed):,} memories</b></p>"
        + listing(
            listed.with_row_index("n", 1).with_columns(
                pl.concat_str("tense", "subjectivity", "certainty", separator=", ").alias("three")
            ),
            {
                "n": "",
                "text": "memory",
                "owner": "whose",
                "time": "said",
                "three": "dimensions",
                "sources": "turns",
            },
            most=8,
        )
    )
    return


@app.cell(hide_code=True)
def _(listed):
    offered = listed.head(1_000)
    memory_labels = {
        f"{at:,} · {text[:90]}": memory
        for at, (text, memory) in enumerate(offered.select("text", "memory").iter_rows(), 1)
    }
    memory_choice = mo.ui.dropdown(
        memory_labels,
        value=next(iter(memory_labels), None),
        searchable=True,
        label=f"Memory to open (of the first {len(offered):,})",
        full_width=True,
    )
    memory_choice
    return (memory_choice,)


@app.cell(hide_code=True)
def _(memory_choice):
    memory_id = memory_choice.value or ""
    return (memory_id,)


@app.cell(hide_code=True)
def _(banks, memory_id, remembered, scope):
    found = remembered.filter(pl.col("memory") == memory_id)
    mo.stop(
        not len(found),
        mo.md("No memory is chosen, or none fits: try another layer or other words."),
    )
    it = found.row(0, named=True)
    mo.Html(
        f"<p><b>{literal(it['text'], 600)}</b><br><small>{literal(it['layer'])} memory of "
        f"{literal(it['owner'] or 'nobody named')}, said in the turns that are "
        "marked, shown with two more before and after</small></p>"
        + excerpt(context(banks.dataset, scope, it["sources"][:12]))
    )
    return


@app.cell(hide_code=True)
def _(banks, scope, user):
    dimension_figure = dimensions_of(banks, scope, user)
    mo.stop(dimension_figure is None, mo.md("There are no episodic memories here."))
    shown(dimension_figure)
    return (dimension_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## A map of the memories

    Each text becomes a point in a space of several hundred directions, where texts of like meaning
    lie close. The map shows the two directions along which the memories differ most: often who
    speaks, then what about. It leaves most of the space out, so trust the list below it more:
    there, likeness is the *cosine* of whole vectors, 1 for the same text and about 0 for unrelated
    ones. The ringed memory is the one selected above.
    """)
    return


@app.cell(hide_code=True)
def _(banks, scope, user):
    drawn_map = memory_map(banks, scope, user)
    return (drawn_map,)


@app.cell(hide_code=True)
def _(banks, memory_id, scope):
    mo.stop(not memory_id, None)
    nearest = neighbours(banks, scope, memory_id)
    return (nearest,)


@app.cell(hide_code=True)
def _(banks, drawn_map, memory_id, scope, user):
    mo.stop(not len(drawn_map.points), mo.md("A map needs three memories or more."))
    map_figure = map_of(banks, drawn_map, scope, user, memory_id)
    shown(map_figure)
    return (map_figure,)


@app.cell(hide_code=True)
def _(nearest):
    mo.Html(
        listing(
            nearest,
            {"cosine": "cosine", "owner": "whose", "text": "nearest memories", "time": "said"},
        )
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What is there twice, and what is lost

    A memory that is there twice takes two places among the few that are retrieved. Texts in the
    same words are listed first; then pairs in other words whose cosine is at least this high:
    """)
    return


@app.cell(hide_code=True)
def _():
    alike_slider = mo.ui.slider(
        0.80, 0.99, 0.01, value=0.92, show_value=True, label="Alike from a cosine of"
    )
    alike_slider
    return (alike_slider,)


@app.cell(hide_code=True)
def _(alike_slider):
    alike = alike_slider.value
    return (alike,)


@app.cell(hide_code=True)
def _(alike, banks, scope):
    copies = duplicates(banks, scope)
    pairs = near_duplicates(banks, scope, alike)
    compared = f" (a sample of {pairs.compared:,} of {pairs.total:,} compared)"
    mo.Html(
        f"<p><b>{len(copies):,} texts in the same words more than once.</b></p>"
        + listing(copies, {"n": "times", "owner": "whose", "text": "text", "sources": "turns"}, 5)
        + f"<p><b>{pairs.found:,} pairs at a cosine of {alike:.2f} or more</b>"
        + (compared if pairs.compared < pairs.total else "")
        + ".</p>"
        + listing(
            pairs.pairs,
            {"cosine": "cosine", "owner": "whose", "text": "one", "other_text": "other"},
            5,
        )
    )
    return


@app.cell(hide_code=True)
def _(banks, scope):
    lost = orphans(banks, scope)
    homeless, silent = (lost.filter(pl.col("what") == what) for what in ("memory", "turn"))
    left_out = banks.manifest["left_out"]
    mo.Html(
        f"<p><b>{len(homeless):,} memories rest on turns that are gone</b>"
        + (" (as it should be)" if not len(homeless) else "")
        + f"<br><b>{len(silent):,} turns that no episodic memory rests on</b>"
        + (": every turn is remembered" if not len(silent) else "")
        + "</p>"
        + listing(homeless, {"id": "memory", "text": "text", "why": "why"}, 5)
        + listing(silent, {"id": "turn", "owner": "speaker", "text": "said", "why": "why"}, 8)
        + "<p>Left out by the rules in the whole data set: "
        + literal(", ".join(f"{n:,} × {why}" for why, n in left_out.items()) or "nothing")
        + ".</p>"
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Does it remember what questions need?

    Each question of a data set names its *evidence*: the turns that hold the answer. What no
    memory rests on cannot be found by any ranking, so the episodic bars are the highest evidence
    recall that is possible here. All conversations of the data set count.
    """)
    return


@app.cell(hide_code=True)
def _(banks):
    cover = coverage(banks)
    mo.stop(
        not cover.n, mo.md("This data set has no questions with evidence, so nothing to cover.")
    )
    coverage_figure = covered_by(banks, cover)
    shown(coverage_figure)
    return (coverage_figure,)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What one session added

    Memories as they stood before the chosen session, and after it. Episodic memories only come:
    each rests on its own turns, so adding a session equals building everything anew. Semantic
    groups are different: all members of a group must be alike, so a new memory may join a group,
    found one with an old memory, or break one up. And a profile may replace a fact, such as a job.
    Therefore groups and profiles are made anew for both moments.
    """)
    return


@app.cell(hide_code=True)
def _():
    added_button = mo.ui.run_button(label="What did the session add?")
    added_button
    return (added_button,)


@app.cell(hide_code=True)
def _(added_button, banks, chosen_session, scope):
    mo.stop(not pressed(added_button), mo.md("*Press the button: it takes a second or more.*"))
    difference = added(banks, scope, chosen_session)
    return (difference,)


@app.cell(hide_code=True)
def _(banks, chosen_session, difference, scope):
    added_figure = added_by(banks, difference, scope, chosen_session)
    shown(added_figure)
    return (added_figure,)


@app.cell(hide_code=True)
def _(difference):
    changed = difference.changes.filter(pl.col("change") != "unchanged")
    mo.Html(
        f"<p><b>Groups and facts of profiles that changed: {len(changed):,}</b></p>"
        + listing(
            changed,
            {
                "layer": "layer",
                "change": "change",
                "owner": "whose",
                "text": "text",
                "before": "turns before",
                "after": "turns after",
            },
        )
        + f"<p><b>New episodic memories: {len(difference.memories):,}</b></p>"
        + listing(difference.memories, {"owner": "whose", "text": "text", "sources": "turns"}, 8)
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## How good are they?

    The same questions to every kind of memory, whoever made it. **Held**: the evidence that some
    memory names as its source. **Without support**: a memory of which the turns it names say
    nothing, by words and by cosine; beside it, how many memories *as many random turns* would seem
    to support, which says what the check is worth. **Twice**: the same again. **Junk**: a question,
    too few words, or a text that a pronoun begins. A swapped name or a lost “not” is found by none
    of these.
    """)
    return


@app.cell(hide_code=True)
def _():
    quality_button = mo.ui.run_button(label="Check them")
    quality_button
    return (quality_button,)


@app.cell(hide_code=True)
def _(banks, quality_button):
    mo.stop(not pressed(quality_button), mo.md("*Press the button: some seconds.*"))
    checked = quality(banks)
    return (checked,)


@app.cell(hide_code=True)
def _(checked):
    model = checked["model"] or {}
    pending = f"{len(checked['pending']):,} parts of the dialogue are pending: run the build again"
    mo.Html(
        f"<p><b>{checked['counts']['episodic']:,} episodic memories"
        + (f", made by {literal(str(model.get('model', model.get('kind'))), 80)}" if model else "")
        + "</b>"
        + (f"<br>{pending}" if checked["pending"] else "")
        + "</p>"
        + listing(quality_rows(checked), {"what": "", "n": "memories", "share": "share"})
        + "".join(
            f"<p><b>{title}</b></p>"
            + listing(
                pl.DataFrame(checked[name]["examples"], infer_schema_length=None),
                {"text": "memory", "sources": "turns"},
                5,
            )
            for name, title in (("unsupported", "Without support"), ("junk", "Junk"))
            if checked[name]["examples"]
        )
    )
    return


if __name__ == "__main__":
    app.run()
