"""Worktrees that a client makes, removes and resets, in a real repository; nothing of the user gets lost."""

import os
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


ROUTE = "/experimental/worktree"


async def made(face, **wish: str) -> dict:
    """Make a worktree and wait until it has its files."""
    async with face.events("/global/event") as events:
        worktree = (await face.http.post(ROUTE, json=wish)).json()
        while (event := await events.read())["payload"]["type"] not in ("worktree.ready", "worktree.failed"):
            pass
    assert event["directory"] == worktree["directory"]
    return {**worktree, "event": event["payload"]}


async def test_a_worktree_gets_a_branch_and_the_files_of_the_commit(serve, project):
    async with serve() as face:
        worktree = await made(face, name="My Feature!")
        second = (await face.http.post(ROUTE)).json()
        listed = (await face.http.get(ROUTE)).json()
        sandboxes = (await face.http.get("/project/current")).json()["sandboxes"]
    folder = Path(worktree["directory"])
    assert folder == project.path.parent / "project-my-feature" and (folder / "a.py").read_text() == "x = 1\n"
    assert worktree["event"] == {
        "type": "worktree.ready", "properties": {"name": "my-feature", "branch": "opencode-tui/my-feature"}
    }  # fmt: skip
    assert project.git("-C", str(folder), "status", "--porcelain") == ""
    assert listed == sandboxes == [worktree["directory"], second["directory"]]


async def test_a_worktree_with_work_is_not_removed_and_a_clean_one_is(serve, project):
    async with serve() as face:
        worktree = await made(face, name="one")
        folder = Path(worktree["directory"])
        (folder / "a.py").write_text("x = 2\n")
        (folder / "new.txt").write_text("mine\n")
        body = {"directory": str(folder)}
        refused = await face.http.request("DELETE", ROUTE, json=body)
        not_reset = await face.http.post(f"{ROUTE}/reset", json=body)
        project.git("-C", str(folder), "add", "-A")
        project.git("-C", str(folder), "commit", "-qm", "work")
        removed = await face.http.request("DELETE", ROUTE, json=body)
        listed = (await face.http.get(ROUTE)).json()
        unknown = await face.http.request("DELETE", ROUTE, json=body)
        main = await face.http.request("DELETE", ROUTE, json={"directory": str(project.path)})
    for answer, verb in ((refused, "remove"), (not_reset, "reset")):
        message = answer.json()["data"]["message"]
        assert answer.status_code == 400 and "a.py, new.txt" in message and verb in message
    assert removed.json() is True and not folder.exists() and listed == []
    assert project.git("show", "opencode-tui/one:new.txt") == "mine"  # commits that are nowhere else keep the branch
    assert (unknown.status_code, main.status_code) == (404, 404)


async def test_work_that_git_was_told_not_to_show_is_never_lost(serve, project):
    async with serve() as face:
        folder = Path((await made(face, name="one"))["directory"])
        body = {"directory": str(folder)}
        project.git("config", "status.showUntrackedFiles", "no")
        answers = []
        for flag in ("assume-unchanged", "skip-worktree"):
            project.git("-C", str(folder), "update-index", f"--{flag}", "a.py")
            (folder / "a.py").write_text("x = 2\n")
            answers.append((await face.http.request("DELETE", ROUTE, json=body), "a.py"))
            answers.append((await face.http.post(f"{ROUTE}/reset", json=body), "a.py"))
            (folder / "a.py").write_text("x = 1\n")
            project.git("-C", str(folder), "update-index", f"--no-{flag}", "a.py")
        (folder / "nested").mkdir()
        project.git("-C", str(folder / "nested"), "init", "-q")
        (folder / "nested" / "work").write_text("mine\n")
        answers.append((await face.http.request("DELETE", ROUTE, json=body), "nested"))
        (project.path / "nested").mkdir()
        (project.path / "nested" / "work").write_text("of the default branch\n")
        project.git("add", "nested/work")
        project.git("commit", "-qm", "has the folder")
        answers.append((await face.http.post(f"{ROUTE}/reset", json=body), "nested"))
        kept = (folder / "nested" / "work").read_text()
        shutil.rmtree(folder / "nested")
        removed = await face.http.request("DELETE", ROUTE, json=body)
    for answer, name in answers:
        assert answer.status_code == 400 and name in answer.text
    assert kept == "mine\n" and removed.json() is True and not folder.exists()


async def test_a_folder_that_no_file_system_can_have_is_a_wrong_request(serve):
    async with serve() as face:
        body = {"directory": "/tmp/a\0b"}
        removed = await face.http.request("DELETE", ROUTE, json=body)
        reset = await face.http.post(f"{ROUTE}/reset", json=body)
        begun = await face.http.post(ROUTE, json={"name": "one", "startCommand": "echo \0"})
        listed = (await face.http.get(ROUTE)).json()
    assert ({answer.status_code for answer in (removed, reset, begun)}, listed) == ({400}, [])


async def test_a_reset_keeps_commits_that_would_be_lost_under_a_branch(serve, project):
    async with serve() as face:
        worktree = await made(face, name="one")
        folder = Path(worktree["directory"])
        (folder / "new.txt").write_text("mine\n")
        project.git("-C", str(folder), "add", "-A")
        project.git("-C", str(folder), "commit", "-qm", "work")
        reset = await face.http.post(f"{ROUTE}/reset", json={"directory": str(folder)})
    assert reset.json() is True and not (folder / "new.txt").exists() and (folder / "a.py").exists()
    assert project.git("rev-parse", "opencode-tui/one") == project.git("rev-parse", "HEAD")
    assert project.git("show", "opencode-tui/one-before-reset:new.txt") == "mine"


async def test_staged_work_and_ignored_files_are_never_overwritten(serve, project):
    async with serve() as face:
        folder = Path((await made(face, name="one"))["directory"])
        (project.path / ".git" / "info" / "exclude").write_text("*.env\nout\n")
        (project.path / "out").mkdir()
        for name in ("mine.env", "out/result"):
            (project.path / name).write_text("of the default branch\n")
        project.git("add", "-f", "mine.env", "out/result")
        project.git("commit", "-qm", "tracks ignored files")
        for name in ("mine.env", "other.env", "out"):
            (folder / name).write_text("mine\n")
        body = {"directory": str(folder)}
        ignored = await face.http.post(f"{ROUTE}/reset", json=body)
        kept = [(folder / name).read_text() for name in ("mine.env", "out")]
        (folder / "a.py").write_text("x = 2\n")
        project.git("-C", str(folder), "add", "a.py")
        (folder / "a.py").write_text("x = 1\n")
        staged = await face.http.post(f"{ROUTE}/reset", json=body)
        not_removed = await face.http.request("DELETE", ROUTE, json=body)
        content = project.git("-C", str(folder), "show", ":a.py")
        project.git("-C", str(folder), "reset", "-q")
        for name in ("mine.env", "out"):
            (folder / name).unlink()
        reset = await face.http.post(f"{ROUTE}/reset", json=body)
    assert ignored.status_code == 400 and "(mine.env, out)" in ignored.json()["data"]["message"]
    assert kept == ["mine\n", "mine\n"] and content == "x = 2"
    for answer in (staged, not_removed):
        assert answer.status_code == 400 and "(a.py)" in answer.json()["data"]["message"]
    assert reset.json() is True and (folder / "other.env").read_text() == "mine\n"


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs a sandbox")
async def test_start_commands_run_in_the_sandbox_of_the_new_folder_once_the_project_is_trusted(serve, project):
    async with serve() as face:
        tier = (await face.http.get("/opencode-tui/sandbox")).json()["tier"]
        if tier == "none":
            pytest.skip("no sandbox works here")
        known = (await face.http.get("/project/current")).json()
        await face.http.patch(f"/project/{known['id']}", json={"commands": {"start": "echo first > log"}})
        worktree = await made(face, name="one", startCommand="echo then >> log; echo x > ../escaped")
        (project.path / "opencode.json").write_text('{"mcp": {"x": {"type": "local", "command": ["true"]}}}')
        gated = await made(face, name="two", startCommand="touch ran")
    folder = Path(worktree["directory"])
    assert (folder / "log").read_text() == "first\nthen\n" and not (folder.parent / "escaped").exists()
    assert worktree["event"]["type"] == "worktree.failed"
    assert "`echo then" in worktree["event"]["properties"]["message"]
    assert "opencode-tui trust" in gated["event"]["properties"]["message"]
    assert os.listdir(gated["directory"]) and not (Path(gated["directory"]) / "ran").exists()
