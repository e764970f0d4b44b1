"""The wheel: what is in it, that it finds its notebooks and explorer, serves, and tells nobody."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shell import PROJECT, Outcome, environment

pytest.importorskip("hatchling", reason="needs pip install hatchling, which builds the wheel")

# Building, installing and starting servers on a busy machine.
pytestmark = pytest.mark.timeout(120)

PARTS = ("workbench", "reward_model", "notebooks", "apps")
JUNK = (
    "__marimo__/session/x.json",
    "__pycache__/x.pyc",
    ".ipynb_checkpoints/x.py",
    ".mypy_cache/x",
)
OFFLINE = PROJECT / "tests" / "offline"
START_SECONDS = 60
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs signals")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built without a network where editors have left their traces."""
    source = tmp_path_factory.mktemp("source")
    for part in PARTS:
        skip = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(PROJECT / part, source / part, ignore=skip)
        for name in JUNK:
            path = source / part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("left behind", encoding="utf-8")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, source / name)
    built = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel installed into a folder of its own, without its dependencies."""
    target = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *options,
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return target


class Installed(NamedTuple):
    """The installed program, called from a foreign folder, the network off and noted."""

    site: Path
    folder: Path

    @property
    def variables(self) -> dict[str, str]:
        return environment(
            PYTHONPATH=f"{OFFLINE}{os.pathsep}{self.site}",
            WORKBENCH_HOME=str(self.folder / "workspace"),
            HOME=str(self.folder),
            REFUSED=str(self.folder / "refused"),
            PYTHONDONTWRITEBYTECODE="1",
        )

    def run(self, *arguments: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "workbench", *arguments],
            env=self.variables,
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    def refused(self) -> str:
        """Machines that were asked for."""
        path = self.folder / "refused"
        return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture
def installed(site: Path, tmp_path: Path) -> Installed:
    """With settings of the person's own that would have statistics sent."""
    (tmp_path / ".streamlit").mkdir()
    told = "[browser]\ngatherUsageStats = true\n[server]\naddress = '0.0.0.0'\n"
    (tmp_path / ".streamlit" / "config.toml").write_text(told, encoding="utf-8")
    return Installed(site, tmp_path)


def names_in(folder: Path) -> set[str]:
    kept = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder.parent))
        for path in kept
        if not any(
            piece.startswith((".", "__pycache__", "__marimo__")) for piece in path.parts[-3:]
        )
    }


# ---------------------------------------------------------------- what is in it


def test_the_wheel_holds_everything_and_no_more(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    shipped = "workbench/_shipped/"
    wanted = {name for part in PARTS[:2] for name in names_in(PROJECT / part)}
    wanted |= {shipped + name for part in PARTS[2:] for name in names_in(PROJECT / part)}
    assert held == wanted
    assert {"reward_model/simulated/texts.json", "workbench/datasets/sample/sample.jsonl"} <= held
    assert f"{shipped}apps/parts/style.css" in held


def test_the_installed_program_finds_its_own(installed: Installed) -> None:
    told = installed.run("notebooks", "--list", "--json")
    assert told.code == 0, told.err
    rows = {row["name"]: row["path"] for row in json.loads(told.out)["notebooks"]}
    assert set(rows) == {path.stem for path in (PROJECT / "notebooks").glob("[a-z]*.py")}
    assert all(path.startswith(str(installed.site)) for path in rows.values())
    shown = installed.run("notebooks", "--list")
    assert shown.code == 0 and all(name in shown.out for name in rows)
    helped = installed.run("explore", "--help")
    assert helped.code == 0 and "--read-only" in helped.out


def test_installed_notebooks_are_copied_and_not_edited(installed: Installed) -> None:
    told = installed.run("notebooks", "--copy", "mine", "--json")
    assert told.code == 0, told.err
    copies = [installed.folder / path for path in json.loads(told.out)["copied"]]
    assert len(copies) > 1 and all("app.run()" in path.read_text("utf-8") for path in copies)
    again = installed.run("notebooks", "--copy", "mine")
    assert again.code == 2 and "already has" in again.err
    edited = installed.run("notebooks", "--edit")
    assert edited.code == 2 and "--copy DIR --edit" in edited.err


# ---------------------------------------------------------------- what cannot be meant


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["notebooks", "nonsense"], 2, "there is no notebook 'nonsense'; there are: "),
        (["notebooks", "--view", "x.json"], 2, "name it: "),
        (["explore", "--view", "x.json"], 4, "x.json"),
        (["explore", "--port", "70000"], 2, "--port takes 1 to 65535"),
        (["explore", "--address", "host.invalid"], 2, "no address of this machine"),
    ],
)
def test_what_cannot_be_meant_is_said_at_once(
    installed: Installed, arguments: list[str], code: int, word: str
) -> None:
    told = installed.run(*arguments, "--json")
    assert told.code == code
    assert word in json.loads(told.out)["error"]["message"]
    assert "Traceback" not in told.err


def test_a_port_that_is_taken_is_said_and_another_one_found(installed: Installed) -> None:
    from workbench.cli.serving import free_port

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for command in ("explore", "notebooks"):
            told = installed.run(command, "--headless", "--port", str(port))
            assert told.code == 2
            assert f"port {port} is taken" in told.err
        assert free_port("127.0.0.1", None, port) > port


# ---------------------------------------------------------------- serving


@contextlib.contextmanager
def serving(program: Installed, *arguments: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A command that serves, and the document that it printed once it did."""
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", *arguments, "--headless", "--json"],
        env=program.variables,
        cwd=program.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        printed = b""
        while not printed.endswith(b"}\n"):
            line = process.stdout.readline() if process.stdout else b""
            assert line, process.communicate()[1].decode()
            printed += line
        yield process, json.loads(printed)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def got(address: str) -> str:
    with urllib.request.urlopen(address, timeout=START_SECONDS) as answer:
        return str(answer.read().decode("utf-8", "replace"))


def listening(port: int) -> set[str]:
    """The addresses, as Linux writes them, at which somebody listens on a port."""
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]:
            place, state = line.split()[1], line.split()[3]
            address, number = place.split(":")
            if state == "0A" and int(number, 16) == port:
                found.add(address)
    return found


@POSIX
@pytest.mark.parametrize(
    ("arguments", "how"),
    [
        (["explore"], signal.SIGINT),
        (["notebooks"], signal.SIGTERM),
    ],
)
def test_it_serves_this_machine_only_and_ends_cleanly(
    installed: Installed, arguments: list[str], how: signal.Signals
) -> None:
    with serving(installed, *arguments) as (process, told):
        port = int(told["address"].split(":")[2].split("/")[0])
        assert "<html" in got(told["address"]).lower()
        if Path("/proc/net/tcp").exists():
            assert listening(port) == {"0100007F"}  # 127.0.0.1
        environ = Path(f"/proc/{told['process']}/environ")
        if environ.exists():  # stronger than the person's settings, which ask for statistics
            assert b"STREAMLIT_BROWSER_GATHER_USAGE_STATS=false" in environ.read_bytes()
            assert b"MARIMO_SKIP_UPDATE_CHECK=1" in environ.read_bytes()
        assert told["workspace"] == str(installed.folder / "workspace")
        process.send_signal(how)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0
        assert out == b"" and b"Traceback" not in err
        assert not alive(told["process"])
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
    assert installed.refused() == ""  # no other machine was asked for anything


@POSIX
def test_the_editor_wants_the_word_that_only_its_starter_knows(
    installed: Installed,
) -> None:
    with serving(installed, "notebooks", "--copy", "mine", "--edit") as (_, told):
        address, _, word = told["address"].partition("?access_token=")
        assert len(word) > 16
        command = Path(f"/proc/{told['process']}/cmdline")
        if command.exists():
            assert word.encode() not in command.read_bytes()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            got(f"{address}api/version")
        assert got(told["address"])
    assert installed.refused() == ""


def alive(process: int) -> bool:
    """Whether a process is there still, a moment after it was ended."""
    end = time.monotonic() + 3
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True
