"""The sandbox of a folder as tools use it: what its commands can reach, in each tier that works here."""

import asyncio
import os
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.sandbox.changes import Change
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.sandbox import Confined, KnownPaths, Sandbox
from opencode_tui.engine.sandbox.tier import Tier
from opencode_tui.engine.tool.builtin.bash_permission import ON_HOST
from opencode_tui.engine.tool.builtin.bash_run import CommandRun
from opencode_tui.engine.tool.process.process import Command, Ended, ShellProcess
from opencode_tui.engine.tool.process.running_command import CommandOutput, RunningCommand
from opencode_tui.schema.error import ToolError
from opencode_tui.storage.paths import Paths
from tests.engine.sandbox.conftest import require_tier
from tests.support.world.repo import Repo, make_repo
from tests.support.world.tools import Workbench


@dataclass
class World:
    """A project in the home, and its sandbox."""

    tier: Tier
    paths: Paths
    environ: dict[str, str]
    project: Path
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    changed: list[Change] = field(default_factory=list[Change])
    messages: list[str] = field(default_factory=list[str])
    readable: list[Path] = field(default_factory=list[Path])

    @property
    def home(self) -> Path:
        return self.paths.home

    def sandbox(self) -> Sandbox:
        return Sandbox(
            settings=SandboxSettings.model_validate({"tier": self.tier, **self.settings}),
            project=discover(self.project, paths=self.paths, environ=self.environ),
            paths=self.paths,
            environ=self.environ,
            secrets=Secrets(self.environ),
            known=KnownPaths(self.readable),
        )

    async def run(
        self, text: str, *, session: str = "ses_one", read_only: bool = False, environ: Mapping[str, str] | None = None
    ) -> str:
        """Run a command line inside and return its output; `changed` are the protected files that it changed then."""
        sandbox = self.sandbox()
        given = environ or self.environ
        confined = await sandbox.confine(
            ["bash", "-c", text], session_id=session, folder=self.project, environ=given, read_only=read_only
        )
        assert confined is not None, await sandbox.status()
        self.messages += confined.messages
        pieces: list[bytes] = []
        cancel, end = os.pipe()
        try:
            ShellProcess(
                Command(text, self.project, given, 20_000, "bash", confined.launch), pieces.append, cancel=cancel
            ).run()
        finally:
            os.close(cancel)
            os.close(end)
        self.changed = await sandbox.changes(confined)
        return b"".join(pieces).decode(errors="replace")


PRIVATE = (
    *(".ssh/id_rsa", ".netrc", ".bashrc", ".config/app/token", ".local/share/opencode-tui/auth.json"),
    "work/other/a.txt",
)


@pytest.fixture(params=["bubblewrap", "landlock"])
def world(request: pytest.FixtureRequest, paths: Paths, environ: dict[str, str]) -> World:
    require_tier(request.param)
    project = paths.home / "work/project"
    repo = make_repo(project)
    repo.write("a.txt", "a\n")
    repo.commit("begin")
    for name in PRIVATE:
        (paths.home / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.home / name).write_text("CANARY")
    return World(request.param, paths, environ, project)


@pytest.mark.fast_cases("landlock")
async def test_the_rest_of_the_home_and_other_projects_cannot_be_read(world: World) -> None:
    output = await world.run(f"cd ~; cat {' '.join(PRIVATE)}; find . -type f -exec cat {{}} +")
    assert "CANARY" not in output


async def test_the_project_is_readable_and_writable(world: World) -> None:
    output = await world.run("cat a.txt; echo b > b.txt; git add -A; git commit -qm second; git log --format=%s")
    assert output == "a\nsecond\nbegin\n"
    assert (world.project / "b.txt").read_text() == "b\n"


@pytest.mark.fast_cases("bubblewrap")
async def test_what_a_command_leaves_is_looked_at_however_its_call_ends(world: World) -> None:
    async def follow(command: Command, output: CommandOutput) -> Ended:
        async with RunningCommand(command, output) as running:
            while await running.wait(10) is None:
                pass
        raise ToolError("no space is left for the output")

    run = CommandRun(
        Command("echo evil > .envrc", world.project, world.environ, 20_000, "bash"),
        replace(ON_HOST, runs="sandbox", tier=world.tier),
        sandbox=world.sandbox(),
        make_output=lambda: CommandOutput(lambda: world.home / "output"),
        follow=follow,
        context=Workbench(world.project).context,
    )
    with pytest.raises(ToolError, match="no space is left"):
        await run.run()
    assert not (world.project / ".envrc").exists()
    assert (world.project / ".envrc.not-approved").read_text() == "evil\n"


async def test_with_read_only_the_project_is_not_writable(world: World) -> None:
    output = await world.run("cat a.txt; echo b > b.txt; echo $?; mktemp > /dev/null && echo temp", read_only=True)
    assert output.startswith("a\n")
    assert output.endswith("1\ntemp\n")
    assert not (world.project / "b.txt").exists()


@pytest.mark.fast_cases("bubblewrap")
async def test_the_temp_folder_is_kept_for_the_session_only(world: World) -> None:
    await world.run("echo CANARY > $TMPDIR/file")
    assert await world.run("cat $TMPDIR/file") == "CANARY\n"
    assert "CANARY" not in await world.run("cat $TMPDIR/file", session="ses_two")


async def test_commands_get_no_keys_and_no_sockets(world: World) -> None:
    world.environ.update(X_API_KEY="sk-CANARY", SSH_AUTH_SOCK="/run/x", DOCKER_HOST="x", KEPT="yes")
    output = await world.run("env")
    assert "KEPT=yes" in output
    assert [name for name in ("CANARY", "SSH_AUTH_SOCK", "DOCKER_HOST") if name in output] == []


@pytest.mark.fast_cases("bubblewrap")
async def test_there_is_no_network(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = f"(echo > /dev/tcp/127.0.0.1/{port}) 2> /dev/null && echo reached"
        assert await world.run(text) == ""
        world.settings["network"] = "on"
        assert await world.run(text) == "reached\n"


async def test_the_settings_open_and_hide_paths(world: World) -> None:
    (world.project / "hidden.txt").write_text("CANARY")
    world.settings.update(readable=["~/.netrc"], writable=["~/work/other"], hidden=["hidden.txt"])
    output = await world.run("cat ~/.netrc; echo b > ~/work/other/b.txt; cat hidden.txt")
    assert output.startswith("CANARY")
    assert (world.home / "work/other/b.txt").read_text() == "b\n"
    if world.tier == "bubblewrap":
        assert "Permission denied" in output


NAMES = ["~/data", "../data", "~/work/../data", "~/d*", "{home}/data", "~/link", "../../li*k", "~/none", "~/*/none"]


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["readable", "writable"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_setting_names_paths_by_home_link_and_wildcard(world: World, setting: str, name: str) -> None:
    (world.home / "data").mkdir()
    (world.home / "data/file").write_text("DATA")
    (world.home / "link").symlink_to("data")
    (world.project.parent / "data").symlink_to(world.home / "data")
    world.settings[setting] = [name.replace("{home}", str(world.home))]
    path = (
        world.home / "link"
        if "li" in name
        else world.project.parent / "data"
        if name == "../data"
        else world.home / "data"
    )
    output = await world.run(f"cat {path}/file; echo x > {path}/new; cat ~/.netrc")
    assert (("DATA" in output), "CANARY" in output) == ("none" not in name, False)
    assert (world.home / "data/new").exists() == (setting == "writable" and "none" not in name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keys", "./keys", "~/work/project/keys", "k*s", "**/*.pem", "link", "none"])
async def test_what_is_hidden_in_the_project_is_held_where_nothing_writes_there(world: World, name: str) -> None:
    (world.project / "keys/deep").mkdir(parents=True)
    (world.project / "keys/deep/a.pem").write_text("CANARY")
    (world.project / "link").symlink_to("keys")
    world.settings["hidden"] = [name]
    for read_only in (True, False):
        is_held = name != "none" and (read_only or world.tier == "bubblewrap")
        output = await world.run("cat keys/deep/a.pem link/deep/a.pem; cat a.txt; ls", read_only=read_only)
        assert ("CANARY" in output, "a\n" in output, "keys\n" in output) == (not is_held, True, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "mv back node_modules",
        "mkdir venv && mv back venv",
        "mkdir -p .venv/x && mv back/end .venv/x",
        "mv back/end node_modules",
        "mkdir back/objects back/refs && echo x > back/HEAD",
        "echo x > back/HEAD; echo . > back/commondir",
    ],
)
async def test_a_folder_with_secrets_is_not_left_out_after_a_change(world: World, command: str) -> None:
    if world.tier != "bubblewrap":
        pytest.skip("this tier hides nothing in the project")
    (world.project / "back/end/keys").mkdir(parents=True)
    (world.project / "back/end/.env").write_text("CANARY")
    (world.project / "back/end/keys/a.pem").write_text("CANARY")
    world.settings["hidden"] = ["back/*/keys"]
    await world.run(command)
    assert "denied" in (output := await world.run("find . -name .env -o -name a.pem | xargs cat; cat back/end/.env"))
    assert "CANARY" not in output


@pytest.mark.slow
@pytest.mark.parametrize("target", ["/usr", "/usr/bin/env", "/", "/etc", "..", "../..", "../../.."])
async def test_a_link_with_the_name_of_secrets_hides_nothing_that_commands_need(world: World, target: str) -> None:
    (world.project / ".env").symlink_to(target)
    assert await world.run("env true && cat a.txt") == "a\n"


async def test_what_is_hidden_outside_the_project_is_held(world: World) -> None:
    (world.home / "data").mkdir()
    for name in ("a.txt", "b.txt"):
        (world.home / "data" / name).write_text(f"CONTENT-{name}")
    world.settings.update(readable=["~/data"], hidden=["~/data/b*"])
    output = await world.run("cat ~/data/*")
    assert ("CONTENT-a.txt" in output, "CONTENT-b.txt" in output) == (True, False)


async def test_our_own_folders_stay_hidden_in_a_home_that_a_setting_opens(world: World) -> None:
    world.settings["readable"] = ["~"]
    output = await world.run("cat ~/.netrc; cat ~/.local/share/opencode-tui/auth.json; touch $TMPDIR/x && echo temp")
    assert (output.count("CANARY"), output.endswith("temp\n")) == (1, True)
    world.settings["writable"] = ["~"]
    assert (await world.sandbox().status()).tier == ("none" if world.tier == "landlock" else world.tier)


async def test_a_new_hook_is_reported_and_removed(world: World) -> None:
    hook = world.project / ".git/hooks/post-commit"
    await world.run(f"mkdir -p n; git init -q n; mkdir -p .husky; echo x > .husky/pre-commit; echo x > {hook}")
    assert world.project / ".husky/pre-commit" in [change.path for change in world.changed]
    assert world.project / "n/.git/config" in [change.path for change in world.changed]


async def test_changes_are_taken_back(world: World) -> None:
    sandbox = world.sandbox()
    confined = await sandbox.confine(
        ["true"], session_id="s", folder=world.project, environ=world.environ, read_only=False
    )
    assert confined is not None
    config, written = world.project / ".git/config", "[core]\n\tfsmonitor = x\n"
    before = config.read_text()
    config.write_text(written)
    (world.project / ".envrc").write_text("x")
    paths = [change.path for change in await sandbox.changes(confined)]
    assert await sandbox.remove(paths) == {}
    is_read_only = world.tier == "bubblewrap"  # so that somebody else has written it
    assert (config.read_text(), (world.project / ".envrc").exists()) == (written if is_read_only else before, False)


async def run_while_git_replaces_its_settings(world: World, text: str) -> tuple[Sandbox, Confined, Ended]:
    """Run a command that prints something first; then the user lets git change its settings. With the file its mount ends."""
    if world.tier != "bubblewrap":
        pytest.skip("without mounts everything is compared")
    sandbox = world.sandbox()
    confined = await sandbox.confine(
        ["bash", "-c", text], session_id="s", folder=world.project, environ=world.environ, read_only=False
    )
    assert confined is not None
    command = Command(text, world.project, world.environ, 20_000, "bash", confined.launch)
    cancel, end = os.pipe()
    seen = threading.Event()
    try:
        running = asyncio.create_task(asyncio.to_thread(ShellProcess(command, lambda _: seen.set(), cancel=cancel).run))
        await asyncio.to_thread(seen.wait, 20)
        Repo(world.project).git("config", "branch.main.remote", "origin")
        (world.project / "go").touch()
        ended = await running
    finally:
        os.close(cancel)
        os.close(end)
    return sandbox, confined, ended


@pytest.mark.fast_cases("bubblewrap")
async def test_what_the_user_lets_git_track_meanwhile_is_no_change(world: World) -> None:
    attempt = "until ! true >> .git/config; do sleep 0.02; done 2>/dev/null"
    text = f"echo begun; until test -e go; do sleep 0.02; done; {attempt}"
    sandbox, confined, ended = await run_while_git_replaces_its_settings(world, text)
    assert ended.exit_code == 0
    assert await sandbox.changes(confined) == []


@pytest.mark.slow
async def test_git_settings_that_start_programs_are_reported_also_where_they_were_replaced_meanwhile(
    world: World,
) -> None:
    attack = "until echo '[core] fsmonitor = x' >> .git/config; do :; done 2>/dev/null"
    sandbox, confined, _ = await run_while_git_replaces_its_settings(world, f"echo begun; {attack}; rm go")
    config = world.project / ".git/config"
    if "fsmonitor" not in config.read_text():  # the command was ended before it wrote
        with config.open("a") as file:
            file.write("[core] fsmonitor = x\n")
    changes = await sandbox.changes(confined)
    assert [(change.path, change.kind, change.is_mixed) for change in changes] == [(config, "changed", True)]
    assert await sandbox.remove([config]) == {}
    kept = config.with_name("config.not-approved").read_text()
    assert "fsmonitor" not in config.read_text()
    assert ("fsmonitor" in kept, "remote = origin" in kept) == (True, True)


async def test_a_linked_worktree_can_be_committed_to(world: World) -> None:
    world.project = Repo(world.project).link(world.project.parent / "linked").path
    assert (
        await world.run("echo c > c.txt; git add -A; git commit -qm third; git log --format=%s | head -1") == "third\n"
    )


async def test_no_command_runs_while_it_cannot_be_read_what_was_protected_before(world: World) -> None:
    world.project.joinpath("deep").mkdir()
    world.project.joinpath("deep/.env").write_text("KEY=1\n")
    await world.run("true")
    (memory,) = (world.paths.data / "sandbox").iterdir()
    kept = memory.read_bytes()
    assert b"deep" in kept.split(b"\0")
    memory.unlink()
    memory.mkdir()
    with pytest.raises(OSError, match=re.escape(str(memory))):
        await world.run("echo ran")
    memory.rmdir()
    memory.write_bytes(kept)
    assert "ran" in await world.run("echo ran") and memory.read_bytes() == kept


async def test_the_home_as_the_project_hides_what_is_private(world: World) -> None:
    world.project = world.home
    if world.tier == "landlock":
        status = await world.sandbox().status()
        assert (status.tier, "home" in status.reason) == ("none", True)
    else:
        assert "CANARY" not in await world.run("cat .ssh/id_rsa .netrc .config/app/token .local/share/*/auth.json")


async def test_a_mode_of_off_confines_nothing(world: World) -> None:
    world.settings["mode"] = "off"
    sandbox = world.sandbox()
    assert (await sandbox.status()).reason == "experimental.sandbox.mode is off"
    assert await sandbox.confine(["true"], session_id="s", folder=world.project, environ={}, read_only=False) is None


@pytest.mark.fast_cases("bubblewrap")
async def test_temp_folders_without_a_session_are_deleted_after_a_week(world: World) -> None:
    kept = world.paths.storage / "session/project" / f"ses_{'0' * 14}archived.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    for session in ("ses_one", kept.stem):
        await world.run("mkdir $TMPDIR/a; touch $TMPDIR/a/b; chmod 500 $TMPDIR/a", session=session)
    folders = list((world.paths.cache / "sandbox/temp").iterdir())
    for folder in folders:
        os.utime(folder, (1, 1))
    await world.run("true", session="ses_new")
    old = next(folder for folder in folders if folder.name.endswith("one"))
    while old.exists():
        await asyncio.sleep(0.01)
    assert {folder.name for folder in old.parent.iterdir()} == {"ses_new", kept.stem[-12:]}
