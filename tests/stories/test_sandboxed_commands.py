"""Commands of the agent run in the sandbox; a yes runs them outside. Source: docs/internals/sandbox.md."""

import asyncio
import json
import os
import socketserver
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from opencode_tui.config.trust.inspection import inspect_folder
from opencode_tui.config.trust.store import TrustStore
from opencode_tui.engine.permission.policy import AskPerson, AutoApprove, Policy, RefuseQuestions
from opencode_tui.engine.sandbox.temp import temp_folder
from opencode_tui.engine.sandbox.tier import Tier, probe
from opencode_tui.schema.api.request import PromptInput, ShellInput, TextInput, UpdateSession
from opencode_tui.schema.error import BusyError, RunAborted
from opencode_tui.schema.event.event import PermissionAsked
from opencode_tui.schema.permission import Approvals, Reply
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.paths import find_paths
from tests.support.world.engine import MODEL, World, opened, react
from tests.support.world.repo import Repo, make_repo

pytestmark = pytest.mark.slow


@dataclass
class Story:
    """An engine whose commands are confined, and the questions that were answered."""

    world: World
    folder: Path
    tier: str
    approvals: Approvals | None = None
    asked: list[PermissionAsked] = field(default_factory=list[PermissionAsked])

    async def bash(
        self, command: str, *replies: Reply | Literal["host"], agent: str = "build", message: str | None = None
    ) -> Any:
        """Return the state of the call of a command; the questions get these replies in order."""
        session = await self.session(command, *replies, agent=agent, message=message)
        return (await self.world.calls(session))[-1].state

    async def session(
        self, command: str, *replies: Reply | Literal["host"], agent: str = "build", message: str | None = None
    ) -> SessionInfo:
        session = await self.world.new_session()
        if self.approvals is not None:
            await self.world.client.permissions.set_approvals(session.id, self.approvals)
        text = f"go <<tool bash {json.dumps({'command': command, 'description': 'x'})}>>"
        answering = asyncio.create_task(self._answer(list(replies), message))
        await asyncio.sleep(0)
        try:
            request = PromptInput(model=MODEL, agent=agent, parts=[TextInput(text=text)])
            await self.world.client.prompts.prompt(session.id, request)
        finally:
            answering.cancel()
        return session

    async def _answer(self, replies: list[Reply | Literal["host"]], message: str | None) -> None:
        with self.world.client.events() as events:
            async for envelope in events:
                if isinstance(envelope.event, PermissionAsked):
                    self.asked.append(envelope.event)
                    reply = replies.pop(0)
                    if reply == "host":
                        await self.world.client.permissions.reply(envelope.event.id, "always", host=True)
                    else:
                        await self.world.client.permissions.reply(envelope.event.id, reply, message)

    @property
    def sandbox(self) -> Any:
        """What the last question says about the sandbox."""
        return self.asked[-1].metadata["sandbox"]


@pytest.fixture
def project(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "x = 1\n")
    repo.commit("begin")
    return repo


TIERS: tuple[Tier, ...] = ("bubblewrap", "landlock")


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest) -> Tier:
    """The tier, if it works here."""
    status = probe(request.param, os.environ)
    if not status.works:
        pytest.skip(status.reason)
    return request.param


@asynccontextmanager
async def confined(
    environ: Mapping[str, str],
    project: Repo,
    tier: str,
    *,
    settings: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    sandbox: Mapping[str, Any] | None = None,
) -> AsyncGenerator[Story]:
    content = {"experimental": {"sandbox": {"tier": tier, **(sandbox or {})}}, **(settings or {})}
    async with opened(dict(environ), project.path, settings=content, policy=policy or AskPerson()) as world:
        yield Story(world, project.path, tier)


async def test_unknown_programs_run_inside_without_a_question(environ, project: Repo, tmp_path: Path, tier: Tier):
    outside = tmp_path / "outside"
    project.write("build.sh", f"echo built > out.txt; echo x > {outside} 2>/dev/null; true\n")
    async with confined(environ, project, tier) as story:
        state = await story.bash("bash build.sh")
    assert (story.asked, state.metadata["sandbox"]) == ([], {"runs": "sandbox", "tier": tier})
    assert (project.path / "out.txt").read_text() == "built\n" and not outside.exists()


async def test_the_temp_folder_is_deleted_with_its_session_and_never_while_a_command_runs(
    environ, project: Repo, tier: Tier
):
    async with confined(environ, project, tier) as story:
        session = await story.session("touch $TMPDIR/first")
        folder = temp_folder(find_paths(environ), session.id)
        sessions, prompts = story.world.client.sessions, story.world.client.prompts
        await sessions.update(session.id, UpdateSession(archived=7))
        assert (folder / "first").exists()
        text = f"go <<tool bash {json.dumps({'command': 'touch $TMPDIR/second; sleep 60', 'description': 'x'})}>>"
        running = asyncio.create_task(
            prompts.prompt(session.id, PromptInput(model=MODEL, parts=[TextInput(text=text)]))
        )
        while not (folder / "second").exists():
            await asyncio.sleep(0.01)
        with pytest.raises(BusyError):
            await sessions.remove(session.id)
        assert (folder / "second").exists()
        await prompts.abort(session.id)
        await asyncio.wait({running})
        await sessions.remove(session.id)
        assert running.exception() is not None and not folder.exists()


async def test_what_needs_the_outside_is_asked_first_and_runs_there(environ, project: Repo, tmp_path: Path, tier: Tier):
    outside = tmp_path / "outside"
    async with confined(environ, project, tier) as story:
        state = await story.bash(f"echo x > {outside}", "once")
        assert story.sandbox["kind"] == "outside" and story.sandbox["runs"] == "host"
        assert story.sandbox["tier"] == tier and str(outside) in " ".join(story.sandbox["reasons"])
        assert state.metadata["sandbox"] == {"runs": "host", "tier": tier}
    assert outside.read_text() == "x\n"


async def test_a_refused_command_runs_again_outside_after_a_yes(environ, project: Repo, tmp_path: Path, tier: Tier):
    outside = tmp_path / "outside"
    project.write("build.py", f"open({str(outside)!r}, 'w').write('x')\n")
    async with confined(environ, project, tier) as story:
        state = await story.bash("python3 build.py", "once")
    assert story.sandbox["kind"] == "refused"
    assert state.metadata["sandbox"]["runs"] == "host" and state.metadata["exit"] == 0
    assert outside.read_text() == "x"
    assert "Ran again outside the sandbox." in state.output


async def test_a_no_leaves_the_result_and_the_turn_goes_on(environ, project: Repo, tmp_path: Path, tier: Tier):
    project.write("build.py", f"open({str(tmp_path / 'outside')!r}, 'w')\n")
    async with confined(environ, project, tier) as story:
        session = await story.session("python3 build.py", "reject", message="use the build folder")
        state = (await story.world.calls(session))[-1].state
        assert (await story.world.answer(session)).startswith("Done")
    assert state.status == "completed" and state.metadata["exit"] == 1
    assert "Blocked by the sandbox" in state.output and "use the build folder" in state.output


async def test_always_after_a_refusal_holds_for_the_kind_of_command(environ, project: Repo, tmp_path: Path, tier: Tier):
    project.write("Makefile", f"all:\n\techo x > {tmp_path}/outside$(N)\n")
    async with confined(environ, project, tier) as story:
        await story.bash("make all N=1", "always")
        assert story.asked[-1].always == ["make all *"]
        await story.bash("make all N=2")
        assert [(tmp_path / f"outside{number}").exists() for number in (1, 2)] == [True, True]
        assert len(story.asked) == 1


async def test_always_after_a_refusal_lets_the_next_command_start_outside(
    environ, project: Repo, tmp_path: Path, tier: Tier
):
    project.write("Makefile", f"all:\n\techo tried >> tried\n\techo x > {tmp_path}/outside\n")
    async with confined(environ, project, tier) as story:
        await story.bash("make all", "always")
        explained = await story.world.client.rules.explain("bash", "make all -j2")
        state = await story.bash("make all -j2")
        both = await story.bash('make all; python3 -c \'open("a.txt", "w")\'')
        planned = await story.bash("make all -j2", agent="plan")
    assert (project.path / "tried").read_text() == "tried\n" * 4  # at first inside and outside, then once each
    assert explained.runs == "host" and state.metadata["sandbox"] == {"runs": "host", "tier": tier}
    assert both.metadata["sandbox"]["runs"] == "sandbox"  # a part of it was never allowed outside
    assert planned.metadata["sandbox"]["runs"] == "sandbox"


@contextmanager
def served(folder: Path) -> Generator[str]:
    """Yield the address of the repositories in a folder, as another computer serves them."""
    argv = ("git", "daemon", "--inetd", "--export-all", "--enable=receive-pack", f"--base-path={folder}", str(folder))

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            subprocess.run(argv, stdin=self.request, stdout=self.request, check=True)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"git://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("place", [".venv/bin", "tools", "link"])
async def test_a_program_that_a_command_made_does_not_stand_for_an_allowed_one(
    environ, project: Repo, tmp_path: Path, tier: Tier, place: str
):
    """PATH begins with a folder of the project, as where its virtual environment is active."""
    made = project.path / ("tools" if place == "link" else place)
    made.mkdir(parents=True)
    (tmp_path / "link").symlink_to(made)
    folder = tmp_path / "link" if place == "link" else made
    given = {**environ, "PATH": f"{folder}:{environ['PATH']}"}
    project.git("init", "-q", "--bare", str(tmp_path / "served" / "remote"))
    project.write("plant.sh", f"cp attack {made}/git\n")
    project.write("attack", f"#!/bin/sh\necho owned > {tmp_path}/owned\n")
    (project.path / "attack").chmod(0o755)
    settings = {"permission": {"bash": {"git push *": "allow"}}}
    with served(tmp_path / "served") as url:
        async with confined(given, project, tier, settings=settings) as story:
            project.git("remote", "add", "origin", f"{url}/remote")
            await story.bash("sh plant.sh")
            state = await story.bash("git push origin HEAD")
            missing = await story.bash("git push origin HEAD && git-of-the-project push", "reject")
    assert (made / "git").exists() and not (tmp_path / "owned").exists()
    assert (state.metadata["exit"], state.metadata["sandbox"]["runs"]) == (0, "host")
    assert missing.status == "error"


async def test_a_program_of_the_project_runs_outside_after_a_yes(environ, project: Repo, tmp_path: Path, tier: Tier):
    project.write("bin/build", f"#!/bin/sh\necho built > {tmp_path}/built\n")
    (project.path / "bin/build").chmod(0o755)
    given = {**environ, "PATH": f"{project.path}/bin:{environ['PATH']}"}
    async with confined(given, project, tier) as story:
        await story.bash("build", "once")
    assert (tmp_path / "built").read_text() == "built\n"


@pytest.mark.parametrize(
    "more",
    [
        {"dangerouslyDisableSandbox": True},
        {"sandbox": "none", "tier": "none", "runs": "host"},
        {"by_user": True, "approvals": "auto"},
        {"environ": {"PATH": "/"}, "experimental": {"sandbox": {"tier": "none"}}},
    ],
)
async def test_no_argument_of_a_call_switches_the_sandbox_off(
    environ, project: Repo, tmp_path: Path, tier: Tier, more: Mapping[str, Any]
):
    """CVE-2026-42074."""
    arguments = {"command": f"sh -c 'echo x > {tmp_path}/outside; echo in > inside'", "description": "x", **more}
    async with confined(environ, project, tier, policy=RefuseQuestions()) as story:
        session = await story.world.new_session()
        request = PromptInput(model=MODEL, parts=[TextInput(text=f"go <<tool bash {json.dumps(arguments)}>>")])
        await story.world.client.prompts.prompt(session.id, request)
        state = (await story.world.calls(session))[-1].state
    assert not (tmp_path / "outside").exists()
    assert state.status == "error" or state.metadata["sandbox"]["runs"] == "sandbox"


async def test_always_inside_lets_no_command_out(environ, project: Repo, tmp_path: Path, tier: Tier):
    project.write("Makefile", f"all:\n\techo x > {tmp_path}/outside\n")
    async with confined(environ, project, tier) as story:
        story.approvals = "ask"
        await story.bash("make none", "always")
        explained = await story.world.client.rules.explain("bash", "make none")
    assert (explained.action, explained.runs) == ("allow", "sandbox")


LONG = "ls > /dev/null; " * 501


@pytest.fixture
def attack(project: Repo, tmp_path: Path) -> Path:
    """A program of the project, also as bin/git, that writes a file outside, which is returned."""
    for name in ("attack", "bin/git"):
        project.write(name, f"#!/bin/sh\necho owned > {tmp_path}/owned\n")
        (project.path / name).chmod(0o755)
    return tmp_path / "owned"


@pytest.mark.parametrize(
    ("allowed", "line"),
    [
        ("git status*", "PATH=$PWD/bin:$PATH; git status"),
        ("git status*", "for PATH in $PWD/bin:$PATH; do git status; done"),
        ("*git status*", "PATH=$PWD/bin:$PATH git status"),
        ("ls*", f"{LONG}sh attack"),
        ("cat*", "cat <<E; sh attack\ny\nE"),
    ],
)
async def test_a_refusal_lets_nothing_out_that_a_rule_for_a_kind_does_not_describe(
    environ, project: Repo, attack: Path, tier: Tier, allowed: str, line: str
):
    settings = {"permission": {"bash": {allowed: "allow"}}}
    async with confined(environ, project, tier, settings=settings, policy=RefuseQuestions()) as story:
        state = await story.bash(line)
    assert not attack.exists() and state.metadata["sandbox"]["runs"] == "sandbox"
    assert "Blocked by the sandbox" in state.output and "needs approval" in state.output


async def test_a_refusal_lets_nothing_out_that_a_grant_for_a_kind_does_not_describe(
    environ, project: Repo, attack: Path, tier: Tier
):
    async with confined(environ, project, tier) as story:
        story.approvals = "ask"
        await story.bash("git status", "always")
        story.approvals = "normal"
        state = await story.bash("PATH=$PWD/bin:$PATH; git status", "reject")
    assert [asked.always for asked in story.asked] == [["git status *"], []]
    assert story.sandbox["reasons"][1:] == ["It may change what the names of commands stand for."]
    assert not attack.exists() and "chose not to run it outside" in state.output


async def test_a_refusal_lets_out_what_a_rule_allows_but_not_beside_a_command_that_could_exchange_its_files(
    environ, project: Repo, attack: Path, tier: Tier
):
    settings = {"permission": {"bash": {"sh *": "allow"}}}
    async with confined(environ, project, tier, settings=settings, policy=RefuseQuestions()) as story:
        alone = await story.bash("sh attack")
        assert attack.read_text() == "owned\n" and alone.metadata["sandbox"]["runs"] == "host"
        attack.unlink()
        start = {"command": "touch started; sleep 60", "description": "x", "background": True}
        await story.world.prompt(f"go <<tool bash {json.dumps(start)}>>")
        while not (project.path / "started").exists():
            await asyncio.sleep(0.01)
        beside = await story.bash("sh attack")
        await story.world.client.background.end()
    assert not attack.exists() and beside.metadata["sandbox"]["runs"] == "sandbox"
    assert "needs approval" in beside.output


async def test_a_refusal_lets_no_search_out_that_would_read_secrets(environ, project: Repo, tier: Tier):
    if tier == "landlock":
        pytest.skip("this tier hides no .env file, so the search asks before it runs")
    project.write(".env", "KEY=unseen")
    settings = {"permission": {"bash": {"grep *": "allow"}}}
    async with confined(environ, project, tier, settings=settings, policy=RefuseQuestions()) as story:
        state = await story.bash("grep -rn KEY . /etc/missing-file")
    assert state.metadata["sandbox"]["runs"] == "sandbox" and "unseen" not in state.output


@pytest.mark.parametrize("line", [f"{LONG}touch made", "ls; cat <<E; touch made\ny\nE"])
async def test_a_rule_that_asks_also_holds_behind_the_part_of_a_line_that_is_read(
    environ, project: Repo, tier: Tier, line: str
):
    settings = {"permission": {"bash": {"*": "ask", "ls*": "allow", "cat*": "allow"}}}
    async with confined(environ, project, tier, settings=settings) as story:
        state = await story.bash(line, "reject")
        assert state.status == "error" and not (project.path / "made").exists()
        await story.bash(line, "once")
    assert len(story.asked) == 2 and story.sandbox["runs"] == "sandbox"


async def test_an_answer_that_keeps_a_command_inside_never_lets_it_out(
    environ, project: Repo, attack: Path, tier: Tier
):
    project.write("says.sh", "echo could not resolve host: db.example; sh attack; exit 1\n")
    async with confined(environ, project, tier) as story:
        (find_paths(environ).data / "storage/permission").write_text("no folder")
        state = await story.bash("bash says.sh", "host")
    assert story.sandbox["allows"] == "db.example"
    assert not attack.exists() and state.metadata["sandbox"]["runs"] == "sandbox"
    assert "Access to db.example could not be stored." in state.output


async def test_a_host_is_allowed_in_this_project_and_the_command_runs_again_inside(environ, project: Repo, tier: Tier):
    project.write("fetch.py", "import sys, urllib.request as r\nprint(r.urlopen(sys.argv[1], timeout=9).status)\n")
    project.write(
        "says.sh", "echo could not resolve host: db.example; python3 fetch.py http://db.example/ && exit 7; exit 1\n"
    )
    async with confined(environ, project, tier) as story:
        state = await story.bash("bash says.sh", "host", "reject")
        grants = await story.world.client.rules.grants("network", None)
        later = await story.bash("bash says.sh", "reject")
        await story.world.client.rules.revoke("network", "db.example")
        await story.bash("bash says.sh", "reject")
    assert [one.metadata["sandbox"].get("allows") for one in story.asked] == ["db.example", None, None, "db.example"]
    assert [grant.pattern for grant in grants] == ["db.example"]
    assert "Ran again after the user allowed db.example." in state.output
    assert "no address is known for db.example" in later.output and later.metadata["sandbox"]["runs"] == "sandbox"


async def test_an_ordinary_failure_asks_nothing(environ, project: Repo, tier: Tier):
    async with confined(environ, project, tier) as story:
        state = await story.bash("python3 -c 'raise SystemExit(3)'")
    assert story.asked == [] and state.metadata["exit"] == 3


async def test_an_undo_of_protected_files_follows_no_link_of_the_command(
    environ, project: Repo, tier: Tier, tmp_path: Path
):
    owned = tmp_path / "outside/.bashrc"
    owned.parent.mkdir()
    owned.write_text("the user's")
    project.write("dot/.bashrc", "of the repository")
    project.write("swap.py", f"import os; os.rename('dot', 'old'); os.symlink({str(owned.parent)!r}, 'dot')")
    async with confined(environ, project, tier) as story:
        state = await story.bash("python3 swap.py", "reject")
    assert owned.read_text() == "the user's"
    if tier == "landlock":  # in the other tier the folder of a protected file cannot be renamed
        assert f"Could not undo: dot/.bashrc ({project.path}/dot is a link now)." in state.output


async def test_what_a_rule_lets_out_asks_while_a_confined_command_could_exchange_its_files(
    environ, project: Repo, tier: Tier
):
    settings = {"permission": {"bash": {"curl *": "allow"}}}
    upload = "curl -s -m 1 -T a.py http://127.0.0.1:9/"
    async with confined(environ, project, tier, settings=settings, policy=RefuseQuestions()) as story:
        before = await story.bash(upload)
        start = {"command": "touch started; sleep 60", "description": "x", "background": True}
        await story.world.prompt(f"go <<tool bash {json.dumps(start)}>>")
        while not (project.path / "started").exists():
            await asyncio.sleep(0.01)
        during, plain = await story.bash(upload), await story.bash("curl -s -m 1 http://127.0.0.1:9/")
        await story.world.client.background.end()
        after = await story.bash(upload)
    assert [state.status for state in (before, during, plain, after)] == [
        "completed",
        "error",
        "completed",
        "completed",
    ]
    assert "needs approval" in during.error


async def test_a_confined_command_starts_after_one_outside_whose_files_it_could_exchange(
    environ, project: Repo, tier: Tier
):
    settings = {"permission": {"bash": {one: "allow" for one in ("curl *", "sleep *", "touch *")}}}
    upload = "touch begun; sleep 0.5; curl -s -m 1 -T a.py http://127.0.0.1:9/; touch ended"
    async with confined(environ, project, tier, settings=settings, policy=RefuseQuestions()) as story:
        first = asyncio.create_task(story.bash(upload))
        while not (project.path / "begun").exists():
            await asyncio.sleep(0.01)
        second = await story.bash("ls ended")
        assert (await first).metadata["sandbox"]["runs"] == "host"
        alone = await story.bash("ls ended")
    assert (second.output, second.metadata["sandbox"]["runs"]) == ("ended\n", "sandbox")
    assert alone.output == "ended\n"


async def test_no_command_and_no_edit_changes_unasked_what_a_hook_or_a_server_starts(
    environ, project: Repo, tier: Tier, tmp_path: Path
):
    ran, texts = tmp_path / "ran", {"tools/check.sh": "true\n", "tools/server.py": "pass\n"}
    for name, text in texts.items():
        project.write(name, text)
    project.write("change.sh", f"for name in tools/*; do echo 'touch {ran}' > $name; done; mv tools other; true\n")
    settings = {
        "hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "sh ./tools/check.sh"}]}]},
        "mcp": {"own": {"type": "local", "command": ["python3", "tools/server.py"], "enabled": False}},
    }
    async with confined(environ, project, tier, settings=settings, policy=RefuseQuestions()) as story:
        await story.bash("bash change.sh")
        await story.bash("true")
        edit = {"filePath": str(project.path / "tools/check.sh"), "content": f"touch {ran}"}
        [call] = await story.world.calls(await story.world.prompt(f"go <<tool write {json.dumps(edit)}>>"))
    assert call.state.status == "error"
    assert {name: (project.path / name).read_text() for name in texts} == texts
    assert not ran.exists()


@pytest.mark.parametrize(("reply", "kept"), [("once", True), ("reject", False)])
async def test_new_protected_files_are_kept_or_removed(environ, project: Repo, tier: Tier, reply: Reply, kept: bool):
    project.write("setup.sh", "echo evil > .envrc\n")
    async with confined(environ, project, tier) as story:
        state = await story.bash("bash setup.sh", reply)
    assert story.sandbox["kind"] == "protected" and story.sandbox["files"] == [".envrc"]
    assert story.asked[-1].always == []
    assert (project.path / ".envrc").exists() == kept
    assert ("Undid" in state.output) == (not kept)


async def test_a_new_protected_file_is_kept_beside_when_its_question_is_interrupted(environ, project: Repo, tier: Tier):
    project.write("setup.sh", "echo evil > .envrc\n")
    async with confined(environ, project, tier) as story:
        session = await story.world.new_session()
        text = f"go <<tool bash {json.dumps({'command': 'bash setup.sh', 'description': 'x'})}>>"
        request = PromptInput(model=MODEL, parts=[TextInput(text=text)])
        asked = asyncio.create_task(
            react(story.world, PermissionAsked, lambda event: story.world.client.prompts.abort(session.id))
        )
        await asyncio.sleep(0)
        with pytest.raises(RunAborted):
            await story.world.client.prompts.prompt(session.id, request)
        await asked
        [call] = await story.world.calls(session)
    assert not (project.path / ".envrc").exists()
    assert (project.path / ".envrc.not-approved").read_text() == "evil\n"
    assert call.state.metadata["sandbox"]["undone"] == [".envrc"]


async def test_what_discards_work_is_asked_for_and_runs_inside(environ, project: Repo, tier: Tier):
    project.write("a.py", "x = 2\n")
    async with confined(environ, project, tier) as story:
        state = await story.bash("git reset --hard", "once")
    assert story.sandbox["kind"] == "discard" and story.sandbox["runs"] == "sandbox"
    assert state.metadata["sandbox"]["runs"] == "sandbox"
    assert (project.path / "a.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(("outside", "exists"), [(False, False), (True, True)])
async def test_auto_leaves_the_sandbox_only_when_told_to(
    environ, project: Repo, tmp_path: Path, tier: Tier, outside: bool, exists: bool
):
    path = tmp_path / "outside"
    policy = AutoApprove(RefuseQuestions(), outside=outside)
    async with confined(environ, project, tier, policy=policy) as story:
        state = await story.bash(f"echo x > {path}")
        inside = await story.bash("git reset --hard")
        project.write("b.py", f"open({str(path)!r}, 'w')\n")
        again = await story.bash("python3 b.py")
    assert path.exists() == exists
    assert inside.status == "completed"
    assert ("--auto=outside" in str(getattr(state, "error", ""))) == (not exists)
    assert ("--auto=outside" in again.output) == (not exists)


async def test_the_setting_lets_auto_leave_the_sandbox(environ, project: Repo, tmp_path: Path, tier: Tier):
    policy = AutoApprove(RefuseQuestions())
    async with confined(environ, project, tier, policy=policy, sandbox={"auto": "outside"}) as story:
        await story.bash(f"echo x > {tmp_path}/outside")
    assert (tmp_path / "outside").exists()


async def test_without_a_terminal_what_would_ask_is_refused(environ, project: Repo, tmp_path: Path, tier: Tier):
    project.write("b.py", f"open({str(tmp_path / 'outside')!r}, 'w')\n")
    async with confined(environ, project, tier, policy=RefuseQuestions()) as story:
        state = await story.bash("curl -s http://127.0.0.1:9/")
        later = await story.bash("python3 b.py")
    assert state.status == "error" and "no terminal" in state.error
    assert "Blocked by the sandbox" in later.output and "no terminal" in later.output
    assert "use --auto=outside" in later.metadata["sandbox"]["refused"]["reason"]


async def test_the_agent_plan_reads_the_project_and_writes_nothing(environ, project: Repo, tier: Tier):
    project.write("w.py", "open('a.py', 'w').write('changed')\n")
    async with confined(environ, project, tier) as story:
        sly = await story.bash("python3 w.py", agent="plan")
        plain = await story.bash("echo x > a.py", agent="plan")
        push = await story.bash("git push", agent="plan")
        look = await story.bash("git log --oneline && cat a.py", agent="plan")
    assert story.asked == []
    assert sly.metadata["exit"] == 1 and "may not leave it" in sly.output
    assert (plain.status, push.status) == ("error", "error")
    assert "may not edit" in push.error
    assert "x = 1" in look.output and (project.path / "a.py").read_text() == "x = 1\n"


async def test_the_users_own_command_runs_outside(environ, project: Repo, tmp_path: Path, tier: Tier):
    async with confined(environ, project, tier) as story:
        session = await story.world.new_session()
        await story.world.client.prompts.shell(
            session.id, ShellInput(agent="build", model=MODEL, command=f"echo x > {tmp_path}/outside")
        )
    assert (tmp_path / "outside").exists() and story.asked == []


async def test_the_users_command_cannot_write_the_project_with_an_agent_that_may_not_edit(
    environ, project: Repo, tier: Tier
):
    async with confined(environ, project, tier) as story:
        session = await story.world.new_session()
        given = ShellInput(agent="plan", model=MODEL, command="cat a.py; echo x > new.txt")
        await story.world.client.prompts.shell(session.id, given)
        state = (await story.world.calls(session))[-1].state
    assert "x = 1" in state.output
    assert not (project.path / "new.txt").exists()


async def test_snippets_of_the_repositorys_commands_run_inside(environ, project: Repo, tmp_path: Path, tier: Tier):
    outside = tmp_path / "outside"
    project.write("print.sh", f"echo printed; (echo x > {outside}) 2> /dev/null; true\n")
    project.write(".opencode/command/theirs.md", "Out: !`sh print.sh`")
    paths = find_paths(environ)
    inspection = inspect_folder(project.path, paths=paths)
    TrustStore(paths=paths).grant(inspection.worktree, [item for item, _ in inspection.items])
    async with confined(environ, project, tier) as story:
        session = await story.world.command("theirs")
        first = (await story.world.parts(session))[0]
    assert isinstance(first, TextPart)
    assert (first.text, story.asked, outside.exists()) == ("Out: printed", [], False)


async def test_without_a_tier_unknown_programs_ask(environ, project: Repo):
    project.write("Makefile", "all:\n\techo made\n")
    async with confined(environ, project, "none") as story:
        state = await story.bash("make", "always")
        await story.bash("make all")
    assert [asked.always for asked in story.asked] == [["make *"]]
    assert story.sandbox["tier"] == "none" and state.metadata["sandbox"] == {"runs": "host", "tier": "none"}


async def test_the_mode_ask_asks_for_every_command_and_edit(environ, project: Repo, tier: Tier):
    async with confined(environ, project, tier) as story:
        story.approvals = "ask"
        state = await story.bash("ls", "always")
        await story.bash("ls -l")
    assert [asked.patterns for asked in story.asked] == [["ls"]]
    assert story.sandbox["kind"] == "rule" and state.metadata["sandbox"]["runs"] == "sandbox"


async def test_the_mode_auto_answers_inside_only(environ, project: Repo, tmp_path: Path, tier: Tier):
    project.write("a.py", "x = 2\n")
    async with confined(environ, project, tier) as story:
        story.approvals = "auto"
        inside = await story.bash("git reset --hard")
        out = await story.bash(f"echo x > {tmp_path}/outside")
    assert story.asked == [] and inside.status == "completed"
    assert out.status == "error" and "--auto=outside" in out.error
    assert not (tmp_path / "outside").exists()
