"""From an edit of the agent to a pull request in a real terminal, with keys only: mark, commit, branch, push."""

import os
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import Open
from tests.support.world.repo import Repo, make_repo

pytestmark = pytest.mark.slow


GH = '#!/bin/sh\nprintf "%s\\n" "$@" > "$(dirname "$0")/arguments"\necho https://git.example/csv/pull/7\n'
HOOK = "#!/bin/sh\nif [ -e .git/refused ]; then exit 0; fi\ntouch .git/refused\necho the linter is unhappy\nexit 1\n"


def test_an_edit_becomes_a_commit_a_branch_and_a_pull_request(
    start: Open, folder: Path, server: ModelServer, tmp_path: Path
) -> None:
    repo = make_repo(folder)
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.com")
    repo.commit("first", **{"a.py": "one\n", "b.py": "two\n"})
    repo.write("b.py", "mine, staged\n")
    repo.git("add", "b.py")
    repo.write(".git/hooks/pre-commit", HOOK).chmod(0o755)
    bare = tmp_path / "remote.git"
    repo.git("init", "-q", "--bare", str(bare))
    repo.git("remote", "add", "origin", str(bare))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    write = Call("write", {"filePath": "new.py", "content": "print('hello')\n"})
    server.script(Answer(calls=(write,)), Answer(text="Written."), Answer(text="Add the greeting"))
    with start(environ={"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}) as terminal:
        terminal.sees("Ask anything")
        terminal.type("write it")
        terminal.press("enter")
        terminal.sees("✓ Done")
        terminal.press("ctrl+x", "h")
        terminal.sees("1 of 2 pieces marked")
        assert "this session" in terminal.sees("new.py")
        terminal.press("a", "down", "space")
        assert "1 of 2 pieces marked" in terminal.sees("☐ ▸ M b.py")
        terminal.type("C")
        terminal.sees("runs pre-commit")
        terminal.sees("Add the greeting")
        terminal.press("enter")
        terminal.sees("the linter is unhappy")
        assert repo.git("log", "--format=%s") == "first" and repo.git("diff", "--cached", "--name-only") == "b.py"
        terminal.press("escape")
        terminal.sees("Add the greeting")
        terminal.press("enter")
        terminal.sees("Committed")
        assert repo.git("show", "--format=%s", "--name-only").split("\n\n") == ["Add the greeting", "new.py"]
        assert repo.git("status", "--porcelain") == "M  b.py"
        terminal.press("ctrl+x", "h")
        terminal.sees("0 of 1 piece marked")
        terminal.type("n")
        terminal.sees("New branch: name")
        terminal.type("greeting")
        terminal.press("enter")
        terminal.sees("Changes  on greeting")
        terminal.type("p")
        terminal.sees("Push 2 commits of greeting to origin?")
        terminal.answer("y")
        terminal.sees("Open a pull request for greeting with gh?")
        terminal.answer("y")
        terminal.sees("Pull request: title")
        terminal.press("enter")
        terminal.sees("https://git.example/csv/pull/7")
    words = (programs / "arguments").read_text().splitlines()
    assert words[:4] == ["pr", "create", "--title", "first"] and words[-2:] == ["--head", "greeting"]
    assert Repo(bare).git("log", "--format=%s", "greeting") == "Add the greeting\nfirst"
    assert repo.git("diff", "--cached", "--name-only") == "b.py"
