"""Quality of memory without a model: precision of facts and profiles, coverage, dimensions.

The labels were given by reading each statement beside its source turn; they name statements by id
(which depends on the text), so a label only counts while the rules still make that statement.
    python tests/bench/bench_memory.py
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

from common import data_folder, row

from workbench.datasets import locomo
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import open_source
from workbench.memory.dimensions import of_question, of_statement
from workbench.memory.episodic import EXTRACTORS
from workbench.memory.profile import build_profile
from workbench.schema import Dialogue, Memory

LABELS = Path(__file__).parents[1] / "data"
TUNED_ON = ("conv-26", "conv-30")


def read(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (LABELS / name).read_text("utf-8").splitlines()]


def precision(title: str, labelled: str, made: set[str]) -> None:
    labels = {label["id"]: label["label"] for label in read(labelled)}
    whole = Counter(labels.values())
    now = Counter(label for id, label in labels.items() if id in made)
    row(title, f"{now['right']} of {now.total()}", f"{now['right'] / now.total():.3f}")
    row("  all labelled so far", f"{whole['right']} of {whole.total()}")
    row("  made now, no label", str(len(made - labels.keys())))


def coverage(dataset: Dataset, facts: dict[str, list[Memory]]) -> None:
    for title, tuned in (("tuned on", True), ("held out", False)):
        covered = total = 0
        for question in dataset.questions:
            if (question.scope in TUNED_ON) is tuned and not question.abstention:
                sources = {s for m in facts[question.scope] for s in m.sources}
                covered += sum(turn in sources for turn in question.gold.evidence)
                total += len(question.gold.evidence)
        row(f"coverage, {title}", f"{covered} of {total}", f"{covered / total:.3f}")


def dimensions() -> None:
    right: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for label in read("dimensions.jsonl"):
        found = (of_question if label["form"] == "query" else of_statement)(label["text"])
        for name in ("tense", "subjectivity", "certainty"):
            key = label["part"], label["form"]
            right[key][name] += getattr(found, name) == label[name]
            right[key]["n"] += name == "tense"
    row("dimensions", "tense", "subjectivity", "certainty", "n")
    for (part, form), counts in sorted(right.items()):
        shares = [f"{counts[d] / counts['n']:.3f}" for d in ("tense", "subjectivity", "certainty")]
        row(f"{part}, {form}", *shares, str(counts["n"]))


def profile_ids(dialogue: Dialogue, facts: list[Memory]) -> set[str]:
    known = [*facts, *EXTRACTORS["turns"](dialogue).memories]
    return {
        f"{dialogue.id}/{person}/{fact.id}"
        for person in dialogue.people
        for fact in build_profile(dialogue.scope, person, known).facts
    }


def main() -> None:
    log = ImportLog()
    source = open_source(data_folder() / "locomo" / "locomo10.json", log)
    dataset = locomo.load(source, "locomo", log)
    facts = {d.id: list(EXTRACTORS["facts"](d).memories) for d in dataset.dialogues}
    made = {f"{name}/{m.id}" for name, found in facts.items() for m in found}
    profiles = set().union(*(profile_ids(d, facts[d.id]) for d in dataset.dialogues))
    row("facts made", str(len(made)))
    precision("fact precision", "locomo_facts_labelled.jsonl", made)
    row("profile entries made", str(len(profiles)))
    precision("profile precision", "locomo_profiles_labelled.jsonl", profiles)
    coverage(dataset, facts)
    dimensions()


if __name__ == "__main__":
    main()
