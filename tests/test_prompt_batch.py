"""Generating together: what prompts begin with is read once, and draws are samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import chisquare

from test_local_model import ask, tiny
from workbench import local_model
from workbench.local_model import Generator
from workbench.prompt_batch import Drawing, How, alike, generated

SCORES = torch.tensor([0.0, 1.0, 2.0, -1.0])


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    folder = tiny(tmp_path_factory.mktemp("models") / "tiny")
    return Generator(folder, None, "float32", "cpu", 256)


def test_a_frozen_last_layer_is_multiplied_without_copies_of_its_weights(
    generator: Generator,
) -> None:
    """PyTorch multiplies row by row (bmm), with a copy of the weights for each, what has gaps."""
    from torch.profiler import ProfilerActivity, profile

    from workbench.training.adapter import adapted, load

    model, _ = load(Path(generator.model.name_or_path), "float32")
    ids = torch.arange(10, 30).repeat(8, 1)
    with torch.no_grad():
        before = model(input_ids=ids, logits_to_keep=5).logits
    model = adapted(model, rank=2, seed=0)  # a new adapter changes nothing yet
    with profile(activities=[ProfilerActivity.CPU]) as told, torch.no_grad():
        after = model(input_ids=ids, logits_to_keep=5).logits
    names = {event.key for event in told.key_averages()}
    assert "aten::mm" in names and "aten::bmm" not in names
    assert torch.allclose(before, after, atol=1e-5)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_are_samples_of_the_softmax(temperature: float) -> None:
    rows = 4_000
    drawing = Drawing(list(range(rows)), temperature)
    counts = torch.zeros(len(SCORES))
    for _ in range(3):  # a row goes on with its own noise
        chosen = drawing(torch.empty(0), SCORES.expand(rows, -1)).argmax(dim=1)
        counts += torch.bincount(chosen, minlength=len(SCORES))
    expected = torch.softmax(SCORES.double() / temperature, dim=0) * counts.sum()
    assert chisquare(counts.numpy(), expected.numpy()).pvalue > 0.01


def test_a_seed_draws_the_same_whoever_is_asked_beside_it() -> None:
    alone = Drawing([7], 1.0)(torch.empty(0), SCORES.expand(1, -1))
    beside = Drawing([3, 7, 5], 1.0)(torch.empty(0), SCORES.expand(3, -1))
    assert torch.equal(alone[0], beside[1]) and not torch.equal(beside[0], beside[1])


def test_what_prompts_begin_with() -> None:
    begin = list(range(40))
    assert alike([[*begin, 90, 1], [*begin, 91]]) == 40
    assert alike([[*begin, 90], begin]) == 39  # one token is left to go on from
    assert alike([begin]) == 0
    assert alike([[*begin[:20], 90], [*begin[:20], 91]]) == 0  # not worth it


def test_a_batch_reads_its_common_beginning_once_and_says_the_same(generator: Generator) -> None:
    begin = [5 + n % 60 for n in range(100)]
    prompts = [[*begin, *range(10, 10 + n)] for n in (1, 9, 4)]
    how = How(most=20, stops=[0], pad=1)
    read: list[Any] = []
    hook = generator.model.model.embed_tokens.register_forward_hook(
        lambda module, given, made: read.append(tuple(given[0].shape))
    )
    together = generated(generator.model, prompts, how)
    hook.remove()
    alone = [generated(generator.model, [prompt], how)[0] for prompt in prompts]
    for one, other in zip(together, alone, strict=True):
        ends = [row[: row.index(0)] if 0 in row else row for row in (one, other)]
        assert ends[0] == ends[1]
    assert read[0] == (1, 100) and read[1] == (3, 9)


def test_samples_of_one_question_are_drawn_in_one_batch(generator: Generator) -> None:
    asked = [ask("hello", temperature=1.0, seed=seed) for seed in range(8)]
    steps: list[int] = []
    hook = generator.model.model.embed_tokens.register_forward_hook(
        lambda module, given, made: steps.append(given[0].shape[0])
    )
    together = [reply.text for reply in generator.complete(asked, 8, None)]
    hook.remove()
    assert set(steps) == {8} and len(set(together)) > 4
    assert [generator.complete([one], 8, None)[0].text for one in asked] == together


def test_instructions_are_read_once_however_short_the_rest(generator: Generator) -> None:
    system = "writeashortmessagethatcouldhavebeensaidandthatanswersit"
    asked = [ask(user, system=system) for user in ("who", "when", "whoisit")]
    fresh = Generator(Path(generator.model.name_or_path), None, "float32", "cpu", 256)
    whole = len(f"[system]{system}[user]")
    read: list[int] = []
    hook = fresh.model.model.embed_tokens.register_forward_hook(
        lambda module, given, made: read.append(given[0].shape[1])
    )
    made, taken = [], []
    for one in asked:
        read.clear()
        made += [reply.text for reply in fresh.complete([one], 8, None)]
        taken.append(read[0])
    hook.remove()
    assert taken[0] == whole
    assert taken[1:] == [len("when[reply]"), len("whoisit[reply]")]
    # The other way round another prompt reads the instructions: the replies are the same.
    other = Generator(Path(generator.model.name_or_path), None, "float32", "cpu", 256)
    assert [other.complete([one], 8, None)[0].text for one in asked[::-1]] == made[::-1]


def test_long_prompts_are_not_read_again_for_a_batch(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_model, "LONG", 100)
    begin = "thenotesthatallquestionsshare" * 5
    asked = [ask(f"{begin}{end}", max_tokens=70) for end in ("who", "why")]
    read: list[tuple[int, ...]] = []
    hook = generator.model.model.embed_tokens.register_forward_hook(
        lambda module, given, made: read.append(tuple(given[0].shape))
    )
    generator.complete(asked, 8, None)
    hook.remove()
    assert {rows for rows, _ in read} == {1}
