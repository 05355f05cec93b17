"""Commands run where the home, or one of the user's folders in it, is a link or lies behind one."""

import asyncio
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.sandbox import Sandbox
from opencode_tui.engine.sandbox.tier import Tier
from opencode_tui.engine.sandbox.tiers import seatbelt
from opencode_tui.engine.tool.process.process import Command, ShellProcess, describe_failed_start
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import find_paths
from tests.engine.sandbox.conftest import require_tier
from tests.support.world.repo import make_repo

Layout = Callable[[Path], Path]
"""Makes the folders of a user below an empty one and returns the home as the user names it."""


def _link(link: Path, target: Path | str) -> Path:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return link


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _inner(name: str) -> Layout:
    """Return a layout where something below the home is a link."""

    def make(base: Path) -> Path:
        _link(_made(base / "ada") / name, _made(base / "elsewhere"))
        return base / "ada"

    return make


def _relative_cache(base: Path) -> Path:
    _made(base / "elsewhere/cache")
    return _link(_made(base / "ada") / ".cache", "../elsewhere/cache").parent


def _chain(base: Path) -> Path:
    _made(base / "ada")
    _link(base / "one", "ada")
    _link(base / "two", base / "one")
    return _link(base / "three", "two")


LAYOUTS: dict[str, Layout] = {
    "nothing": lambda base: _made(base / "ada"),
    "home": lambda base: _link(base / "home", _made(base / "ada")),
    "relative home": lambda base: _link(base / "home", "ada") if _made(base / "ada") else base,
    "above the home": lambda base: _link(base / "homes", _made(base / "disk/ada").parent) / "ada",
    "chain": _chain,
    "way up": lambda base: _link(base / "x/home", _made(base / "ada")).parent / "../x/home",
    "relative cache": _relative_cache,
    **{
        name: _inner(name)
        for name in (
            ".cache", ".config", ".local", ".local/share", ".local/state", ".cache/opencode-tui", ".cache/opencode-tui/sandbox",
            ".cache/opencode-tui/sandbox/temp", ".cache/opencode-tui/sandbox/caches", ".local/share/opencode-tui",
        )
    },
}  # fmt: skip


class User:
    """A user whose home a layout has made, with a project that has a file with secrets."""

    def __init__(self, base: Path, home: Path, tier: Tier) -> None:
        self.tier = tier
        self.environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.paths = find_paths(self.environ)
        repo = make_repo(base / "project")
        repo.write(".env", "KEY=CANARY\n")
        self.project = repo.path

    def sandbox(self) -> Sandbox:
        return Sandbox(
            settings=SandboxSettings.model_validate({"tier": self.tier}),
            project=discover(self.project, paths=self.paths, environ=self.environ),
            paths=self.paths,
            environ=self.environ,
            secrets=Secrets(self.environ),
        )

    async def policy(self) -> Policy:
        confined = await self.sandbox().confine(
            ["true"], session_id="ses_one", folder=self.project, environ=self.environ, read_only=False
        )
        assert confined is not None
        return confined.policy

    async def run(self, text: str) -> str:
        sandbox = self.sandbox()
        confined = await sandbox.confine(
            ["sh", "-c", text], session_id="ses_one", folder=self.project, environ=self.environ, read_only=False
        )
        assert confined is not None, await sandbox.status()
        pieces: list[bytes] = []
        cancel, end = os.pipe()
        command = Command(text, self.project, self.environ, 20_000, "sh", confined.launch)
        try:
            await asyncio.to_thread(ShellProcess(command, pieces.append, cancel=cancel).run)
        finally:
            os.close(cancel)
            os.close(end)
        return b"".join(pieces).decode(errors="replace")


TEXT = """
echo runs; echo temp > "$TMPDIR/x"; cat "$TMPDIR/x"; echo written > made
touch "$HOME/outside" 2>/dev/null; cat .env 2>/dev/null
"""


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("name", LAYOUTS)
async def test_a_command_runs_and_is_confined_wherever_links_lead(name: str, tier: Tier, tmp_path: Path) -> None:
    require_tier(tier)
    user = User(tmp_path, LAYOUTS[name](tmp_path), tier)
    for _ in range(2):
        output = await user.run(TEXT)
        assert output == "runs\ntemp\n" + ("KEY=CANARY\n" if tier == "landlock" else "")
    assert (user.project / "made").read_text() == "written\n"
    assert not (user.paths.home / "outside").exists()


@pytest.mark.parametrize("name", LAYOUTS)
async def test_each_path_of_a_policy_is_the_one_that_the_kernel_compares(name: str, tmp_path: Path) -> None:
    require_tier("landlock")
    policy = await User(tmp_path, LAYOUTS[name](tmp_path), "landlock").policy()
    given = [str(path) for path in (*policy.read, *policy.write, *policy.read_only, policy.temp)]
    assert given == [os.path.realpath(path) for path in given]
    profile = seatbelt.profile(policy)
    named = re.findall(r'\((?:subpath|literal) "([^"]+)"\)', profile.split("com.apple.cfprefsd.agent", 1)[1])
    assert str(policy.temp) in named
    assert named == [os.path.realpath(path) for path in named]


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
async def test_a_home_on_another_file_system_works_and_stays_closed(tier: Tier, tmp_path: Path) -> None:
    require_tier(tier)
    memory = Path("/dev/shm", f"opencode-tui-test-{os.getpid()}-{tier}")
    try:
        user = User(tmp_path, _link(tmp_path / "home", _made(memory / "ada")), tier)
        assert (await user.run(TEXT)).startswith("runs\ntemp\n")
        assert not (memory / "ada/outside").exists()
    finally:
        shutil.rmtree(memory)


@pytest.mark.slow
async def test_a_folder_of_path_behind_a_link_below_tmp_is_found_by_each_command(tmp_path: Path) -> None:
    require_tier("bubblewrap")
    user = User(tmp_path, _made(tmp_path / "ada"), "bubblewrap")
    program = _made(tmp_path / "tools/bin") / "greet"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    links = Path("/tmp", f"opencode-tui-test-{os.getpid()}")
    try:
        _link(links / "deep/bin", program.parent)
        user.environ["PATH"] = f"{links}/deep/bin:{user.environ['PATH']}"
        assert [await user.run("greet") for _ in range(2)] == ["hello\n", "hello\n"]
    finally:
        shutil.rmtree(links)


async def test_a_temp_folder_of_the_system_behind_a_link_keeps_no_tier_from_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(_link(tmp_path / "tmp", _made(tmp_path / "real"))))
    require_tier("landlock")
    user = User(tmp_path, _made(tmp_path / "ada"), "landlock")
    user.environ["TMPDIR"] = str(tmp_path / "tmp")
    assert (await user.run("echo x > $TMPDIR/x; cat $TMPDIR/x")) == "x\n"


def test_a_cache_that_leads_nowhere_is_named_with_its_target(tmp_path: Path) -> None:
    home = _link(_made(tmp_path / "ada") / ".cache", tmp_path / "unplugged").parent
    with pytest.raises(ConfigError, match=r"\.cache is a link to .*unplugged, which is missing"):
        find_paths({"HOME": str(home)})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError("bwrap does not say why"), "bwrap does not say why"),
        (OSError(24, "Too many open files"), "too many open files; raise `ulimit -n`"),
        (OSError(7, "Argument list too long"), "the command or its environment is too long; write it to a file"),
        (FileNotFoundError(2, "No such file or directory", "/bin/zsh"), "/bin/zsh: No such file or directory"),
        (OSError(), "OSError"),
    ],
)
def test_why_a_command_could_not_be_started_is_always_said(error: OSError, words: str) -> None:
    command = Command("true", Path("/project"), {}, 1, "sh")
    assert describe_failed_start(command, error) == f"the command could not be started in /project: {words}"
