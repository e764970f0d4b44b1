"""Turning a function into a command: the options that all share, recipes, errors, exit codes."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import msgspec
import typer

from workbench.cli.output import Output, visible, write_json
from workbench.errors import DataError, UsageError, WorkbenchError
from workbench.schema import Recipe
from workbench.workspace import Workspace

__all__ = [
    "PARTIAL",
    "RECIPE_HELP",
    "Jobs",
    "Llm",
    "Scheduler",
    "command",
    "main",
    "numbers",
]

PARTIAL = 3
INTERNAL = 70
INTERRUPTED = 130

RECIPE_HELP = {
    "memories": "What is remembered: turns, observations, facts, llm (llm@NAME: whose).",
    "embedder": "minilm, mpnet, bge, a model id or a folder; add +bf16 or +openvino for speed.",
    "retriever": "dense, lexical, hybrid, ppro or approximate.",
    "prior": "none, profile, facts, centroid:KIND, speaker, contrast:KIND; or a control: "
    "other-user, everyone, shuffled, random, before the prior it repeats (everyone:facts).",
    "lam": "Weight of the query against the prior, 0..1; 1 is query only.",
    "k": "How many memories are kept (K_E).",
    "k_semantic": "How many semantic memories are kept (K_S), with ppro.",
    "threshold": "Least cosine on the episodic path, with ppro. Default: the embedder's own.",
    "boost": "Boost for each shared retrieval dimension, with ppro.",
    "lexical_weight": "Weight of BM25 in hybrid.",
    "neighbours": "Share of the neighbouring turns' scores that a memory is lent.",
    "neighbours_far": "The same for the turns two places away.",
    "speaker": "What a memory gains for being said by a person of the question (hybrid: in "
    "standard deviations).",
    "lend": "Share of the best score among other memories of its turns that a memory is lent.",
    "lend_from": "The kind of memory that lends.",
    "centred": "Take the bank's mean off all vectors first.",
}

PRESET = (
    Annotated[
        str | None,
        typer.Option(
            help="A named recipe: paper, query-only, locomo-turns, locomo-observations. "
            "Explicit options override it."
        ),
    ],
    None,
)

Jobs = Annotated[int, typer.Option(help="Processes of this machine; -1: one a processor.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler to work on (extra `cluster`).")
]

Llm = Annotated[
    str | None,
    typer.Option(
        "--llm",
        help="A language model: openai:MODEL (any compatible endpoint: $WORKBENCH_LLM_BASE_URL), "
        "hf:ID, folder or file.gguf, scripted:FILE.jsonl. Default: $WORKBENCH_LLM_MODEL.",
    ),
]

SHARED: dict[str, Any] = {
    "as_json": (
        Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")],
        False,
    ),
    "workspace": (
        Annotated[
            str | None,
            typer.Option(help="Folder of datasets and banks. Default: $WORKBENCH_HOME."),
        ],
        None,
    ),
    "seed": (Annotated[int, typer.Option(help="Seed of every stochastic step.")], 0),
}


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command.

    A parameter `out: Output` is filled from the shared options, a parameter `recipe: Recipe` from
    one option a field of it that the function has no parameter of its own for.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        own = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in inspect.signature(function).parameters.values()
            if parameter.name != "out" and hints[parameter.name] is not Recipe
        ]
        takes_recipe = hints.get("recipe") is Recipe
        fields = _recipe_options({p.name for p in own}) if takes_recipe else []
        shared = [_keyword(key, kind, default) for key, (kind, default) in SHARED.items()]

        @functools.wraps(function)
        def run(**given: Any) -> None:
            out = Output(given.pop("as_json"), Workspace(given.pop("workspace")), given.pop("seed"))
            if takes_recipe:
                chosen = {field.name: given.pop(field.name) for field in fields}
                given["recipe"] = _recipe(given.pop("preset"), chosen, out.seed)
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    function(out=out, **given)
            except BrokenPipeError:  # here, because typer would make it an exit code of 1
                _drop_stdout()
            raise typer.Exit(out.exit_code)

        presets = [_keyword("preset", *PRESET)] if fields else []
        parameters = [*(_as_keyword(p) for p in own), *presets, *fields, *shared]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        del run.__wrapped__
        app.command(name)(run)
        return function

    return register


def numbers(text: str, option: str, least: int) -> list[int]:
    """The whole numbers of "1,5,10". Raises UsageError naming the option where one is none, or is
    below `least`."""
    try:
        found = [int(piece) for piece in text.split(",") if piece.strip()]
    except ValueError:
        found = []
    if not found or min(found) < least:
        raise UsageError(f"{option} takes whole numbers from {least} with commas, not {text!r}")
    return found


def main(app: typer.Typer) -> None:
    """Run the app and leave with the exit code that DESIGN gives to what happened."""
    arguments = sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character the terminal lacks must not end a command
            stream.reconfigure(errors="replace")
    try:
        code = app(args=arguments, standalone_mode=False)
        if code == INTERRUPTED:  # typer turns Ctrl-C into an exit without a word
            raise KeyboardInterrupt
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
        code = 0
    except (KeyboardInterrupt, typer.Abort):
        code = _fail("interrupted", "Interrupted", INTERRUPTED, arguments)
    except WorkbenchError as error:
        code = _fail(str(error), type(error).__name__, error.exit_code, arguments)
    except OSError as error:  # a file that cannot be read or written, a full disk
        code = _fail(str(error), type(error).__name__, DataError.exit_code, arguments)
    except Exception as error:  # noqa: BLE001 - the last resort before a traceback
        code = _unexpected(error, arguments)
    sys.exit(code or 0)


def _unexpected(error: Exception, arguments: list[str]) -> int:
    """The parser's own complaints, and faults of ours."""
    if hasattr(error, "format_message"):
        return _fail(
            error.format_message(), "UsageError", getattr(error, "exit_code", 2), arguments
        )
    if os.environ.get("WORKBENCH_TRACEBACK"):
        traceback.print_exc()
    message = (
        f"internal error: {type(error).__name__}: {error}. "
        "Set WORKBENCH_TRACEBACK=1 to see where, and please report it"
    )
    return _fail(message, "InternalError", INTERNAL, arguments)


def _fail(message: str, kind: str, code: int, arguments: list[str]) -> int:
    try:
        print(f"workbench: {visible(message)}", file=sys.stderr)
        if "--json" in arguments:
            failure = {"kind": kind, "message": message, "exit_code": code}
            write_json({"error": failure}, sys.stdout)
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
    return code


def _drop_stdout() -> None:
    """The reader has gone; Python would try to flush into it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _recipe(name: str | None, chosen: dict[str, Any], seed: int) -> Recipe:
    """The preset's recipe, or the default one, with what was chosen explicitly instead."""
    from workbench.presets import preset

    base = preset(name) if name else Recipe()
    explicit = {key: value for key, value in chosen.items() if value is not None}
    return msgspec.structs.replace(base, **explicit, seed=seed)


def _recipe_options(taken: set[str]) -> list[inspect.Parameter]:
    """One option for each field of a recipe, unset by default so that a preset can speak; the seed
    is shared by all commands anyway."""
    return [
        _keyword(
            field.name,
            Annotated[
                field.type | None,
                typer.Option(help=f"{RECIPE_HELP[field.name]} [default: {field.default}]"),
            ],
            None,
        )
        for field in msgspec.structs.fields(Recipe)
        if field.name not in taken | {"seed"}
    ]


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _as_keyword(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
