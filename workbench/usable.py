"""A view that can be shown: whatever it names and is not there falls back, with a word on it.

`view.view_of` reads values; here they are held against what exists. Interfaces call both, so that
a link that was mistyped, or made where there was other data, still opens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.answer import ANSWERERS
from workbench.ask import find_question
from workbench.attribution import CLASSES
from workbench.build import KINDS
from workbench.datasets.report import Dataset
from workbench.datasets.store import SAMPLE, names
from workbench.effects import EFFECTS
from workbench.embedders import EMBEDDERS, MODIFIERS, SentenceEmbedder
from workbench.library import MADE, by_model, is_built, sets_by_model
from workbench.priors import PRIORS, REPEATED
from workbench.retrieve import RETRIEVERS
from workbench.run_plan import LLM_ANSWERER
from workbench.view import View
from workbench.workspace import Workspace

__all__ = [
    "dataset_names",
    "embedders_held",
    "kinds_there",
    "opens_at_once",
    "people_of",
    "priors_for",
    "unknown",
    "usable",
    "usable_in",
]

NEED_A_KIND = ("centroid", "contrast")
CONTROLS = ("other-user", "everyone", "shuffled")


def dataset_names(workspace: Workspace) -> list[str]:
    """The datasets that can be looked at: the bundled sample first, then the workspace's."""
    return [SAMPLE, *(name for name in names(workspace) if name != SAMPLE)]


def embedders_held(workspace: Workspace) -> Iterator[str]:
    """The embedders of the workspace's banks; nothing is read before the first is asked for."""
    yield from (str(one["embedder"]) for one in workspace.manifests("banks").values())


def kinds_there(workspace: Workspace, dataset: Dataset, opened: SentenceEmbedder) -> list[str]:
    """The kinds of memory that a dataset has, or can have without asking a model: those by rule,
    and what models have built, "llm" of one model, "llm@ID" of several."""
    ruled = [kind for kind in KINDS if kind != "observations" or dataset.observations]
    made = sets_by_model(workspace, dataset.name, MADE, opened)
    several = [f"{MADE}@{manifest['id'][:8]}" for manifest in made]
    return [*ruled, *(several if len(made) > 1 else [MADE] * len(made))]


def opens_at_once(
    workspace: Workspace, dataset: str, memories: str, opened: SentenceEmbedder
) -> bool:
    """Whether a page may open these memories unasked: they are built, or those of the bundled
    sample, a matter of seconds. A model's are never built by opening a page."""
    small = dataset == SAMPLE and not by_model(memories)
    return small or is_built(workspace, dataset, memories, opened)


def priors_for(memories: Iterable[str]) -> list[str]:
    """The full names of the priors that a dataset with these kinds of memory can have."""
    kinds = list(memories)
    found = [name for name in PRIORS if name not in NEED_A_KIND]
    return [*found, *(f"{name}:{kind}" for name in NEED_A_KIND for kind in kinds)]


def people_of(dataset: Dataset) -> list[tuple[str, str]]:
    """(scope, person) of everybody whose memories can be searched, in the dataset's order."""
    pairs = ((d.scope, person) for d in dataset.dialogues for person in d.people)
    return list(dict.fromkeys(pairs))


def usable(
    view: View,
    datasets: Iterable[str],
    embedders: Iterable[str] = (),
    rewriters: Iterable[str] = (),
) -> tuple[View, list[str]]:
    """The view with a default in place of each name that nothing here has, and remarks on them.

    `embedders` are usable besides those that have a name: of the workspace's own banks, never
    whatever a link says. A link would else make this machine fetch somebody's model, or open a
    folder of its own. So with `rewriters`, all that are usable besides the question as asked.
    """
    known = {
        "dataset": list(datasets),
        "memories": [*KINDS, *filter(by_model, [view.memories])],
        "retriever": list(RETRIEVERS),
        "effect": ["", *EFFECTS],
        "answerer": ["", *ANSWERERS, LLM_ANSWERER],
        "lost": ["", *CLASSES],
    }
    remarks, changes = [], {}
    for field, names_there in known.items():
        given = getattr(view, field)
        if given not in names_there:
            changes[field] = getattr(View(), field)
            remarks.append(unknown(field, given, changes[field]))
    if not _is_prior(view.prior):
        changes["prior"] = View().prior
        remarks.append(unknown("prior", view.prior, changes["prior"]))
    if not _has_a_name(view.embedder) and view.embedder not in embedders:
        changes["embedder"] = View().embedder
        remarks.append(unknown("embedder", view.embedder, changes["embedder"]))
    if view.rewriter and view.rewriter not in rewriters:
        changes["rewriter"] = View().rewriter
        remarks.append(unknown("rewriter", view.rewriter, "the question as asked"))
    return (view.but(**changes) if changes else view), remarks


def usable_in(view: View, dataset: Dataset) -> tuple[View, list[str]]:
    """The view with people, memories and a category that its dataset has, and remarks on others.

    Where a person is named without a scope, the first one of that name is meant; a question of the
    dataset's brings its own scope.
    """
    remarks: list[str] = []
    changes: dict[str, str] = {}
    pairs = people_of(dataset)
    people = [pair for pair in pairs if view.user == pair[1] and view.scope in ("", pair[0])]
    if view.user and not people:
        changes |= {"user": "", "scope": ""}
        remarks.append(unknown("user", "/".join(filter(None, (view.scope, view.user))), ""))
    elif view.user:
        changes["scope"] = people[0][0]
    elif view.scope and view.scope not in dict(pairs):
        changes["scope"] = ""
        remarks.append(unknown("scope", view.scope, ""))
    question = find_question(dataset, view.question) if view.question else None
    scope = changes.get("scope", view.scope)
    if question is not None and scope and question.scope != scope:
        changes |= {"user": "", "scope": question.scope}
        remarks.append(f"question {question.id} belongs to {question.scope}, which is shown")
    if view.turn and not _is_said(dataset, scope, view.turn):
        changes["turn"] = ""
        remarks.append(unknown("turn", view.turn, ""))
    if view.category and view.category not in {q.category for q in dataset.questions}:
        changes["category"] = ""
        remarks.append(unknown("category", view.category, ""))
    if view.memories == "observations" and not dataset.observations:
        changes["memories"] = "turns"
        remarks.append(f"{dataset.name} brings no observations; turns is used")
    wants = view.prior.split(":")[-1] == "observations"
    if wants and not dataset.observations:
        changes["prior"] = View().prior
        remarks.append(f"{dataset.name} brings no observations; prior {View().prior} is used")
    return (view.but(**changes) if changes else view), remarks


def _has_a_name(embedder: str) -> bool:
    """Whether an embedder is one of `EMBEDDERS`, with modifiers or without."""
    name, *modifiers = embedder.split("+")
    return name in EMBEDDERS and MODIFIERS.issuperset(modifiers)


def _is_prior(name: str) -> bool:
    """Whether a prior's full name means something, its source included."""
    if name in priors_for((*KINDS, MADE)) or name == "centroid":
        return True
    base, _, inner = name.partition(":")
    contrasts = [f"contrast:{kind}" for kind in (*KINDS, MADE)]
    return base in CONTROLS and inner in (*REPEATED[:2], *contrasts)


def _is_said(dataset: Dataset, scope: str, turn: str) -> bool:
    """Whether a scope ("" for any) has a turn."""
    dialogues = (one for one in dataset.dialogues if scope in ("", one.scope))
    return any(said.id == turn for one in dialogues for said in one.turns)


def unknown(field: str, given: str, used: str) -> str:
    """The remark on a value that nothing here has, and on what takes its place."""
    shown = given if len(given) <= 60 else given[:59] + "…"
    return f"{field} = {shown!r} is nothing that is here; {used or 'nothing'} is used"
