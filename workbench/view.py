"""A view: what somebody is looking at, as a link, a file and a notebook's arguments.

The same state in three forms: query parameters of the explorer, a small JSON file, and options of a
notebook. Only what differs from the defaults is written, so links stay short. What cannot be read
falls back to the default, and says so: a link that was mistyped still opens.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import DataError
from workbench.schema import Recipe, Record

__all__ = ["View", "decode_view", "encode_view", "read_view", "view_of"]

# Longer values are no names of anything here, and would be echoed in a message.
LONGEST = 2_000


class View(Record, frozen=True, kw_only=True):
    """What is looked at: a page, a dataset, a person, a question, and the recipe's main knobs.

    `question` is an id of the dataset's or free text. `run` and `against` are ids of runs,
    `judgments` and `comparison` a set of comparisons and one of them. `search`, `category` and
    `effect` (helped, hurt, unchanged, missed) filter the questions, and so does `lost`, a class of
    error of the run's (`workbench.attribution`). `turn` is a turn of the dialogue that is open,
    `section` a part of a page, `answerer` answers from the rankings ("" for nobody, "llm" for a
    language model). `rewriter` words what is searched with, by a name of
    `workbench.rewriters.rewriter_labels` ("" for the question as asked). `collection` is a
    collection of judgments, `participant` whose of them.
    """

    page: str = ""
    dataset: str = "sample"
    scope: str = ""
    user: str = ""
    question: str = ""
    search: str = ""
    category: str = ""
    effect: str = ""
    lost: str = ""
    memories: str = "turns"
    embedder: str = "minilm"
    retriever: str = "dense"
    prior: str = "profile"
    lam: float = 0.8
    k: int = 10
    boost: float = 0.05
    turn: str = ""
    section: str = ""
    answerer: str = ""
    rewriter: str = ""
    run: str = ""
    against: str = ""
    judgments: str = ""
    comparison: str = ""
    collection: str = ""
    participant: str = ""

    def recipe(self, seed: int = 0) -> Recipe:
        """The recipe of the knobs; everything else at its default."""
        return Recipe(
            memories=self.memories,
            embedder=self.embedder,
            retriever=self.retriever,
            prior=self.prior,
            lam=self.lam,
            k=self.k,
            boost=self.boost,
            seed=seed,
        )

    def parameters(self) -> dict[str, str]:
        """Query parameters: only what is not the default, as text."""
        return {
            field.name: str(getattr(self, field.name))
            for field in msgspec.structs.fields(self)
            if getattr(self, field.name) != field.default
        }

    def but(self, **changes: Any) -> View:
        """The same view with some things changed."""
        return msgspec.structs.replace(self, **changes)


def view_of(parameters: Mapping[str, Any]) -> tuple[View, list[str]]:
    """The view that query parameters or a notebook's options state, and a remark on each value
    that could not be used and was left at its default."""
    remarks, read = [], {}
    fields = {field.name: field for field in msgspec.structs.fields(View)}
    for name, value in parameters.items():
        if name not in fields:
            remarks.append(f"{name} is nothing that a view has; it is ignored")
            continue
        found, problem = _read(name, str(value), fields[name].type)
        if problem:
            remarks.append(f"{problem}; {fields[name].default or 'nothing'} is used")
        else:
            read[name] = found
    return View(**read), remarks


def read_view(path: Path) -> tuple[View, list[str]]:
    """The view that a file holds, with the remarks of `view_of`.

    Raises DataError where there is no such file, or it is no JSON object.
    """
    try:
        return decode_view(path.read_bytes(), str(path))
    except OSError as error:
        raise DataError(f"{path}: no view can be read from it ({error})") from error


def decode_view(data: bytes, name: str) -> tuple[View, list[str]]:
    """The view in a file's content; `name` is what an error calls the file.

    Raises DataError where it is no JSON object.
    """
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{name}: no view can be read from it ({error})") from error
    if not isinstance(document, dict):
        raise DataError(f"{name}: a view is one JSON object, as `Save this view` writes it")
    return view_of(document)


def encode_view(view: View) -> bytes:
    """A view as a file's content, which `read_view`, the explorer and the notebooks open."""
    return msgspec.json.format(msgspec.json.encode(view.parameters()))


def _read(name: str, text: str, kind: Any) -> tuple[Any, str]:
    """A value of its kind, or why it is none."""
    if len(text) > LONGEST:
        return None, f"{name} is too long"
    if kind is str:
        return text, ""
    try:
        number = kind(text)
    except ValueError:
        return None, f"{name} = {text!r} is no number"
    low, high = {"lam": (0, 1), "k": (1, 500), "boost": (0, 1)}[name]
    if not low <= number <= high:  # NaN is in no range
        return None, f"{name} = {text!r} is not between {low} and {high}"
    return number, ""
