"""Agents in worktrees of their own: the session's files stay as they are until it applies the changes."""

import json
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.engine.file.task_repository import open_repository, remove_leftovers
from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.agent_branch import agent_branch
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.task_folders import record_base, record_task
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer, provider_config

MODEL = ModelRef(provider_id="fake", model_id="fake-model")
WORK = {"description": "write it", "prompt": "write", "subagent_type": "general"}
TASK = Call("task", {**WORK, "isolation": "worktree"})


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def files_of(folder: Path) -> dict[str, bytes]:
    """Return all files of a checkout, of its git folder the index, HEAD and settings."""
    git_files = [folder / ".git" / name for name in ("HEAD", "config", "index")]
    own = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path): path.read_bytes() for path in (*git_files, *own)}


@asynccontextmanager
async def opened(environ, folder, *answers, experimental=None):
    repo = folder / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    git(repo, "config", "user.email", "a@example.com")
    git(repo, "config", "user.name", "A")
    (repo / "a.txt").write_text("one\ntwo\nthree\n")
    (repo / "old.txt").write_text("old\n")
    (repo / ".gitignore").write_text("ignored\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    with ModelServer() as server:
        environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(
            {"provider": provider_config(server.base_url), "experimental": experimental or {}}
        )
        server.script(*answers)
        async with open_client(environ, repo, policy=RefuseQuestions()) as client:
            yield server, client, repo


async def prompt(client, text="go", session=None):
    session = session or await client.sessions.create(CreateSession(title="named"))
    await client.prompts.prompt(session.id, PromptInput(model=MODEL, parts=[TextInput(text=text)]))
    return session


async def tool_parts(client, session_id) -> list[Any]:
    messages = await client.messages.list(session_id)
    return [part for message in messages for part in message.parts if isinstance(part, ToolPart)]


def disown(paths, name: str, pid: int) -> None:
    """Make a worktree that of a process that has ended."""
    record = paths.tasks / f"{name}.json"
    stored = json.loads(record.read_text())
    record.write_text(json.dumps({**stored, "owner": {**stored["owner"], "pid": pid}}))


async def leave_clone(paths, environ, repo: Path, name: str, session_id: str, *, is_begun: bool = True) -> Path:
    """Make the clone of a killed agent that has added a file, and programs that git could start."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    opened = open_repository(environ, repo)
    path = record_task(paths, name, origin=repo, common_dir=repo / ".git", session_id=session_id)
    commit = await opened.find_commit("HEAD")
    await opened.clones.add(path, commit)
    if is_begun:
        record_base(paths, name, commit)
    (path / "left.txt").write_text(f"{name}\n")
    evil = path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {repo.parent}/started\n")
    evil.chmod(0o755)
    for setting in ("core.fsmonitor", "filter.x.clean", "core.sshCommand", "diff.external"):
        git(path, "config", setting, str(evil))
    (path / ".git/hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-commit", "reference-transaction", "post-index-change"):
        (path / ".git/hooks" / hook).symlink_to(evil)
    (path / ".gitattributes").write_text("* filter=x\n")
    disown(paths, name, ended.pid)
    return path


def apply_of(child) -> Call:
    return Call("task", {**WORK, "task_id": child.id, "apply": True})


@pytest.mark.slow
async def test_the_files_of_a_session_change_only_when_it_applies_what_the_agent_did(environ, tmp_path):
    bash = Call(
        "bash",
        {"command": "echo four >> a.txt && rm old.txt && printf '\\000\\377' > b.bin && pwd", "description": "x"},
    )
    write = Call("write", {"filePath": "new/c.txt", "content": "c\n"})
    answers = [
        Answer(calls=(TASK,)),
        Answer(calls=(bash,)),
        Answer(calls=(write,)),
        Answer(text="done"),
        Answer(text="ok"),
    ]
    async with opened(environ, tmp_path, *answers) as (server, client, repo):
        (repo / "a.txt").write_text("ONE\ntwo\nthree\n")  # not committed, and part of what the agent begins with
        (repo / "untracked.txt").write_text("u")
        (repo / "ignored").write_text("i")
        before = files_of(repo)
        session = await prompt(client)
        assert files_of(repo) == before
        assert list(find_paths(environ).tasks.iterdir()) == []
        (child,) = await client.sessions.children(session.id)
        (part,) = await tool_parts(client, session.id)
        branch = agent_branch(child)
        assert branch is not None and branch.files == 4 and not branch.is_applied
        assert f"the branch {branch.branch}" in part.state.output and "+four" in part.state.output
        assert git(repo, "show", f"{branch.branch}:a.txt") == "ONE\ntwo\nthree\nfour\n"
        assert git(repo, "diff", "--name-only", branch.base, branch.branch).split() == [
            "a.txt", "b.bin", "new/c.txt", "old.txt",
        ]  # fmt: skip

        (repo / "a.txt").write_text("ONE and a half\ntwo\nthree\n")  # elsewhere than the agent: merged
        server.script(Answer(calls=(apply_of(child),)), Answer(text="applied"))
        await prompt(client, "apply it", session)
        part = (await tool_parts(client, session.id))[-1]
        assert part.state.status == "completed", part.state
        assert (repo / "a.txt").read_text() == "ONE and a half\ntwo\nthree\nfour\n"
        assert (repo / "b.bin").read_bytes() == b"\x00\xff"
        assert (repo / "new" / "c.txt").read_text() == "c\n" and not (repo / "old.txt").exists()

        messages = await client.messages.list(session.id)
        asked = [one.info.id for one in messages if one.info.role == "user"]
        await client.undo.revert(session.id, asked[-1])
        (repo / "a.txt").write_text("ONE\ntwo\nthree\n")
        assert files_of(repo) == before


async def test_a_conflict_is_named_and_nothing_is_applied(environ, tmp_path):
    edit = Call("bash", {"command": "sed -i 's/two/TWO/' a.txt && echo n > n.txt", "description": "x"})
    answers = [Answer(calls=(TASK,)), Answer(calls=(edit,)), Answer(text="done"), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers) as (server, client, repo):
        session = await prompt(client)
        (child,) = await client.sessions.children(session.id)
        (repo / "a.txt").write_text("one\n2\nthree\n")
        server.script(Answer(calls=(apply_of(child),)), Answer(text="no"))
        await prompt(client, "apply it", session)
        part = (await tool_parts(client, session.id))[-1]
        assert "conflicts with the files in a.txt (changed here too)" in part.state.error
        assert not (repo / "n.txt").exists() and (repo / "a.txt").read_text() == "one\n2\nthree\n"


@pytest.mark.slow
async def test_an_agent_cannot_write_into_the_checkout_of_its_session(environ, tmp_path):
    repo = tmp_path / "repo"
    hidden = str(repo).replace("/repo", "/re''po")
    commands = [
        f"echo x > {repo}/x.txt",
        f"echo x > {hidden}/x.txt",
        f"git -C {hidden}/.git update-ref refs/heads/x HEAD",
    ]
    calls = [
        Call("write", {"filePath": str(repo / "x.txt"), "content": "x"}),
        *(Call("bash", {"command": command, "description": "x"}) for command in commands),
        Call("bash", {"command": f"p=po; echo x > {str(repo)[:-2]}$p/x.txt; echo tried", "description": "x"}),
    ]
    answers = [Answer(calls=(TASK,)), *(Answer(calls=(one,)) for one in calls), Answer(text="done"), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers, experimental={"approvals": "auto"}) as (_, client, repo):
        before = files_of(repo)
        session = await prompt(client)
        (child,) = await client.sessions.children(session.id)
        parts = await tool_parts(client, child.id)
        assert len(parts) == len(calls)
        assert [part.state.status for part in parts[:2]] == ["error", "error"], [part.state for part in parts]
        assert files_of(repo) == before
        assert git(repo, "branch", "--list", "x") == ""
        found = agent_branch(child)
        assert found is not None and found.branch == "" and found.base


@pytest.mark.slow
async def test_eight_agents_at_once_leave_the_checkout_as_it_is_and_each_has_its_own_branch(environ, tmp_path):
    command = "for i in $(seq 40); do echo $i > file$i.txt; done; date +%N%s > a.txt"
    work = f"<<tool bash {json.dumps({'command': command, 'description': 'x'})}>>"
    tasks = tuple(Call("task", {**WORK, "prompt": f"{number} {work}", "isolation": "worktree"}) for number in range(8))
    async with opened(environ, tmp_path, Answer(calls=tasks)) as (_, client, repo):
        before = files_of(repo)
        session = await prompt(client)
        assert files_of(repo) == before
        found = [agent_branch(child) for child in await client.sessions.children(session.id)]
        assert len({one.branch for one in found if one is not None}) == 8
        assert [one.files for one in found if one is not None] == [41] * 8
        assert list(find_paths(environ).tasks.iterdir()) == []


@pytest.mark.slow
async def test_a_task_that_is_continued_goes_on_with_its_own_files(environ, tmp_path):
    first = Call("bash", {"command": "echo 1 > n.txt", "description": "x"})
    answers = [Answer(calls=(TASK,)), Answer(calls=(first,)), Answer(text="done"), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers) as (server, client, repo):
        session = await prompt(client)
        (child,) = await client.sessions.children(session.id)
        again = Call("task", {**WORK, "task_id": child.id})
        second = Call("bash", {"command": "cat n.txt && echo 2 >> n.txt", "description": "x"})
        server.script(Answer(calls=(again,)), Answer(calls=(second,)), Answer(text="done"), Answer(text="ok"))
        await prompt(client, "more", session)
        (child,) = await client.sessions.children(session.id)
        server.script(Answer(calls=(apply_of(child),)), Answer(text="applied"))
        await prompt(client, "apply it", session)
        assert (repo / "n.txt").read_text() == "1\n2\n"
        assert list(find_paths(environ).tasks.iterdir()) == []


async def test_what_a_killed_agent_had_changed_is_not_removed_with_the_worktrees_of_tasks(paths, environ, tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    for name, session_id in (("agent", "ses_1"), ("task", "")):
        path = record_task(paths, name, origin=tmp_path, common_dir=tmp_path / ".git", session_id=session_id)
        path.mkdir()
        (path / "work.txt").write_text("unfinished\n")
        disown(paths, name, ended.pid)
    assert await remove_leftovers(environ) == 1
    assert (paths.tasks / "agent/work.txt").read_text() == "unfinished\n"
    assert not (paths.tasks / "task").exists()


@pytest.mark.slow
async def test_the_next_turn_puts_what_killed_agents_had_changed_on_branches_and_starts_nothing_of_theirs(
    paths, environ, tmp_path
):
    answers = [Answer(calls=(TASK,)), Answer(text="nothing to do"), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers) as (server, client, repo):
        session = await prompt(client)
        (child,) = await client.sessions.children(session.id)
        other = await client.sessions.create(CreateSession(title="another"))
        left = await leave_clone(paths, environ, repo, "one", child.id)
        unbegun = await leave_clone(paths, environ, repo, "two", child.id, is_begun=False)
        foreign = await leave_clone(paths, environ, repo, "three", "ses_unknown")
        before = files_of(repo)
        await prompt(client, "hello", other)
        assert left.exists() and unbegun.exists()

        begun = len(server.requests)
        async with open_client(environ, repo, policy=RefuseQuestions()) as after:  # of the process after the kill
            await prompt(after, "go on", session)
            await prompt(after, "go on", session)
            (child,) = await after.sessions.children(session.id)
        texts = [str(one.body) for one in server.requests[begun:]]
        branch = agent_branch(child)
        assert branch is not None and branch.branch and branch.files == 3
        assert [text.count("was killed in the middle of its work") for text in texts] == [1, 1]  # stored once
        assert branch.branch in texts[0] and child.id in texts[0]
        assert git(repo, "show", f"{branch.branch}:left.txt") == "one\n"
        assert sorted(one.name for one in paths.tasks.iterdir()) == ["three", "three.json"]
        assert foreign.exists() and files_of(repo) == before
        assert not (tmp_path / "started").exists()


async def test_without_a_repository_the_model_reads_why_there_is_no_worktree(environ, tmp_path):
    with ModelServer() as server:
        environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": provider_config(server.base_url)})
        server.script(Answer(calls=(TASK,)), Answer(text="ok"))
        async with open_client(environ, tmp_path, policy=RefuseQuestions()) as client:
            session = await prompt(client)
            (part,) = await tool_parts(client, session.id)
            assert "cannot work in a worktree" in part.state.error and "not in a git repository" in part.state.error
