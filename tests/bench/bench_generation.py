"""What generating together saves: 16 rewrites by a local model, each way in turn.

    python tests/bench/bench_generation.py FOLDER [ROUNDS]

Processor seconds of a rewrite (statements for 16 questions, at most 24 tokens, drawn at temperature
1): one by one, in a batch that reads every prompt whole, and in one that reads what they begin with
once. The ways take turns, so that a busy machine is busy for all; ratios are of the medians.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from common import row

from workbench import prompt_batch
from workbench.local_model import Generator
from workbench.prompt_batch import How, generated
from workbench.statement import Wanted, statement_request

ASKED = [
    Wanted(f"{what} did {who} do {when}?", (who,))
    for what in ("What", "Where", "Why", "With whom")
    for who in ("Ana", "Bo")
    for when in ("in May 2023", "on the weekend before the move")
]


def main(folder: Path, rounds: int) -> None:
    generator = Generator(folder, None, "bfloat16", "cpu", 256)
    prompts = [generator._prompt(statement_request(one)) for one in ASKED]
    pad = generator.tokenizer.pad_token_id
    how = How(24, generator.stops, pad, 1.0, range(len(prompts)))

    def one_by_one() -> None:
        for place, prompt in enumerate(prompts):
            generated(generator.model, [prompt], how._replace(seeds=[place]))

    def whole() -> None:
        with patch.object(prompt_batch, "alike", lambda prompts: 0):
            generated(generator.model, prompts, how)

    def together() -> None:
        generated(generator.model, prompts, how)

    ways: dict[str, Callable[[], None]] = {
        "one by one": one_by_one,
        "a batch, prompts read whole": whole,
        "a batch, read once": together,
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began = time.process_time()
            way()
            taken[name].append((time.process_time() - began) / len(prompts))
    row("prompt", f"{len(prompts[0])} tokens", f"{prompt_batch.alike(prompts)} alike")
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    for name, seconds in medians.items():
        row(name, f"{seconds:.2f} s", f"{seconds / medians['a batch, read once']:.1f} times")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
