"""Language models on this machine: a tiny random one, made here, generates through Transformers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.chat_models import open_llm
from workbench.errors import ModelError, UsageError
from workbench.llm import Request
from workbench.local_model import Generator
from workbench.local_weights import LocalModel, _fast_bfloat16, local_model
from workbench.workspace import Workspace

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}[reply]{% endif %}"
)
LETTERS = [chr(n) for n in range(32, 127)]


def tiny(folder: Path, template: str | None = TEMPLATE, **config: object) -> Path:
    """A model of one layer over single characters, with random weights of a fixed seed."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    vocabulary = {token: n for n, token in enumerate(["<end>", "<pad>", "<unk>", *LETTERS])}
    characters = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    characters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    characters.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=characters, eos_token="<end>", pad_token="<pad>", unk_token="<unk>"
    )
    tokenizer.chat_template = template
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    settings = {"max_position_embeddings": 256, "eos_token_id": 0, "pad_token_id": 1, **config}
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = Qwen2ForCausalLM(
            Qwen2Config(vocab_size=len(vocabulary), **sizes, **heads, **settings)  # type: ignore[arg-type]
        )
        torch.nn.init.normal_(model.lm_head.weight, std=1.0)
    # What would make greedy generation depend on more than the likeliest token.
    model.generation_config.repetition_penalty = 5.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def model(folder: Path) -> LocalModel:
    return LocalModel(name="tiny", folder=folder)


def ask(user: str, **given: object) -> Request:
    return Request(user=user, **{"system": "s", "max_tokens": 12, **given})  # type: ignore[arg-type]


def by_hand(folder: Path, prompt: str, steps: int) -> str:
    """The likeliest characters, one forward pass each, without anything of ours."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    start = ids.shape[1]
    with torch.inference_mode():
        for _ in range(steps):
            token = model(ids).logits[0, -1].argmax()
            if int(token) == 0:
                break
            ids = torch.cat([ids, token.reshape(1, 1)], dim=1)
    return str(tokenizer.decode(ids[0, start:]))


def test_at_temperature_0_the_likeliest_token_is_taken(model: LocalModel, folder: Path) -> None:
    for user in ("hello", "WhatdoesJolike?", "x"):
        [reply] = model.complete([ask(user)])
        assert reply.text == by_hand(folder, f"[system]s[user]{user}[reply]", 12)
        assert reply.tokens_in == len(f"[system]s[user]{user}[reply]")
        assert reply.failure in (None, "truncated")


def test_a_batch_padded_on_the_left_says_what_each_says_alone(model: LocalModel) -> None:
    asked = [ask("n" * n, max_tokens=80) for n in (1, 30, 7, 2, 19)]
    told: list[int] = []
    together = model.complete(asked, lambda row, reply: told.append(row))
    assert sorted(told) == [0, 1, 2, 3, 4]
    assert [r.text for r in together] == [model.complete([one])[0].text for one in asked]
    assert [r.tokens_in for r in together] == [
        len("[system]s[user][reply]") + n for n in (1, 30, 7, 2, 19)
    ]


def test_a_reply_that_reaches_its_length_is_truncated(model: LocalModel) -> None:
    lengths = {}
    for most in (1, 2, 40):
        [reply] = model.complete([ask("hello", max_tokens=most)])
        lengths[most] = (reply.tokens_out, reply.failure)
    assert lengths[1] == (1, "truncated") and lengths[2] == (2, "truncated")


def test_an_end_at_once_is_empty_and_later_ends_the_text(folder: Path, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    ending = tmp_path / "ending"
    ending.mkdir()
    for path in folder.iterdir():
        (ending / path.name).write_bytes(path.read_bytes())
    weights = load_file(ending / "model.safetensors")
    for name in weights:  # nothing but the head's row of zeros left: the end wins every tie
        weights[name] = torch.zeros_like(weights[name])
    save_file(weights, ending / "model.safetensors", {"format": "pt"})
    [reply] = LocalModel(name="e", folder=ending).complete([ask("hello")])
    assert (reply.failure, reply.text, reply.tokens_out) == ("empty", "", 0)


def test_samples_come_from_their_seed_whatever_else_is_asked(model: LocalModel) -> None:
    asked = [ask("hello", temperature=1.0, seed=seed) for seed in (1, 2, 1, 3)]
    first = [reply.text for reply in model.complete(asked)]
    assert first[0] == first[2] != first[1]
    assert [reply.text for reply in model.complete(asked[::-1])] == first[::-1]


def test_too_much_to_read_is_a_failure_of_that_request_alone(model: LocalModel) -> None:
    long, short = model.complete([ask("x" * 300), ask("x")])
    assert long.failure == "invalid" and "256" in long.detail
    assert long.tokens_out == 0 and short.tokens_out > 0


def test_what_prompts_begin_with_alike_is_read_once_and_says_the_same(folder: Path) -> None:
    """Characters that go through the model, counted, against a model that never saw the others."""
    long = "thenotesthatallquestionsshare" * 6
    asked = [ask(f"{long}{end}") for end in ("who", "why", "whoisit")] + [ask("short")]
    alone = []
    for one in asked:
        [reply] = Generator(folder, None, "float32", "cpu", 32).complete([one], 8, None)
        alone.append(reply.text)
    generator = Generator(folder, None, "float32", "cpu", 32)
    read: list[int] = []
    generator.model.model.embed_tokens.register_forward_hook(
        lambda module, given, made: read.append(given[0].shape[1])
    )
    made, taken = [], []
    for one in asked:
        read.clear()
        [reply] = generator.complete([one], 8, None)
        made.append(reply.text)
        taken.append(sum(read) - reply.tokens_out)  # and one for each token that went on
    assert made == alone
    first = len(f"[system]s[user]{long}who[reply]")
    assert abs(taken[0] - first) <= 1  # the last token that is made is not read
    assert first > 160
    assert all(number < 64 for number in taken[1:3])
    assert [r.text for r in generator.complete(asked[::-1], 8, None)] == alone[::-1]


def test_a_generation_that_broke_off_leaves_nothing_behind(folder: Path) -> None:
    generator = Generator(folder, None, "float32", "cpu", 32)
    asked = ask("thenotesthatallquestionsshare," * 4)
    [whole] = generator.complete([asked], 8, None)
    layer = generator.model.model.layers[0].mlp
    hook = layer.register_forward_hook(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        generator.complete([ask("another" * 12)], 8, None)
    hook.remove()
    assert generator.complete([asked], 8, None)[0].text == whole.text


def test_what_the_identity_names(folder: Path, tmp_path: Path) -> None:
    one, other = (LocalModel(name="t", folder=folder, dtype=d) for d in ("float32", "bfloat16"))
    assert one.identity != other.identity
    assert str(folder.parent) not in json.dumps(one.identity)
    changed = tmp_path / "changed"
    changed.mkdir()
    for path in folder.iterdir():
        (changed / path.name).write_bytes(path.read_bytes())
    assert LocalModel(name="t", folder=changed).identity == one.identity
    (changed / "chat_template.jinja").write_text("other", encoding="utf-8")
    assert LocalModel(name="t", folder=changed).identity != one.identity


def test_no_model_is_loaded_where_all_is_known(folder: Path, workspace: Workspace) -> None:
    first = open_llm(f"hf:{folder}", workspace)
    told = first.complete([ask("hello")])
    assert told[0].failure is None  # it ends by itself after a few characters
    second = open_llm(f"hf:{folder}", workspace)
    assert second.complete([ask("hello")]) == told
    assert (second.usage.calls, second.usage.cached) == (0, 1)
    assert "generator" not in vars(second.source)


def test_a_template_without_a_system_message_gets_it_before_the_user(tmp_path: Path) -> None:
    refusing = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    merged = tiny(tmp_path / "merged", refusing + TEMPLATE)
    [reply] = LocalModel(name="m", folder=merged).complete([ask("hello")])
    assert reply.tokens_in == len("[user]shello[reply]")  # this tokeniser drops white space


def test_folders_that_are_no_chat_model(tmp_path: Path, workspace: Workspace) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match="safetensors"):
        local_model(str(empty), workspace)
    (empty / "a.gguf").write_bytes(b"GGUF and no more")
    with pytest.raises(ModelError, match=r"a\.gguf"):
        local_model(str(empty), workspace)
    with pytest.raises(ModelError, match="does not load"):
        local_model(str(empty / "a.gguf"), workspace).complete([ask("x")])
    (empty / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match="no model"):
        local_model(str(empty / "pytorch_model.bin"), workspace)
    plain = tiny(tmp_path / "plain", template=None)
    with pytest.raises(ModelError, match="chat template"):
        local_model(str(plain), workspace).complete([ask("x")])
    with pytest.raises(UsageError, match="no file, folder or model id"):
        local_model("not/a/model", workspace)


def test_how_weights_are_computed(
    tmp_path: Path, folder: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = tmp_path / "cpuinfo"
    assert _fast_bfloat16(flags) is False
    flags.write_text("flags : fpu avx512_bf16 amx_tile", encoding="utf-8")
    assert _fast_bfloat16(flags) is True
    flags.write_text("flags : fpu avx2", encoding="utf-8")
    assert _fast_bfloat16(flags) is False
    monkeypatch.setenv("WORKBENCH_LLM_DTYPE", "bfloat16")
    monkeypatch.setenv("WORKBENCH_LLM_BATCH", "3")
    told = local_model(str(folder), workspace).identity
    assert (told["dtype"], told["batch"]) == ("bfloat16", 3)
    for name, wrong in (("DTYPE", "int4"), ("BATCH", "0"), ("BATCH", "many")):
        monkeypatch.setenv(f"WORKBENCH_LLM_{name}", wrong)
        with pytest.raises(UsageError, match=f"WORKBENCH_LLM_{name}"):
            local_model(str(folder), workspace)
        monkeypatch.delenv(f"WORKBENCH_LLM_{name}")
