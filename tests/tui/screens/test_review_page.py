"""The checklist of changes, with the real engine: marks, comments, a commit that fails and one that does not, a push."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen
from tests.support.world.repo import Repo, make_repo
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


TEXT = "".join(f"line {number}\n" for number in range(1, 31))


def _repo(folder: Path) -> Repo:
    repo = make_repo(folder / "csvkit")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.com")
    repo.commit("first", **{"parser.py": TEXT})
    repo.write("parser.py", TEXT.replace("line 3\n", "third\n").replace("line 20\n", "twentieth\n"))
    repo.write("notes.md", "a note\n")
    return repo


async def test_marked_pieces_are_committed_with_a_proposed_message_and_pushed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    repo = _repo(tmp_path)
    bare = tmp_path / "remote.git"
    repo.git("init", "-q", "--bare", str(bare))
    repo.git("remote", "add", "origin", str(bare))
    async with screen(environ, repo.path, Answer(text="Spell the third line"), size=(110, 34)) as page:
        await page.send("/changes")
        await page.sees("0 of 3 pieces marked")
        text = await page.sees("Nothing is marked: space marks the selected row, a marks everything")
        assert "enter commit" not in text and "shift+c commit" not in text and "Commit 0" not in text
        await page.press("enter")  # on the row of the commit
        await until(lambda: page.text().count("Nothing is marked: space marks") == 2)
        await page.press("down")
        await until(lambda: page.text().count("Nothing is marked: space marks") == 1)
        await page.press("shift+c")
        await until(lambda: page.text().count("Nothing is marked: space marks") == 2)
        await page.press("enter")
        await page.sees("twentieth")
        await page.press("down", "space")
        await page.sees("1 of 3 pieces marked")
        await page.press("shift+c")
        await page.sees("Commit 1 piece: message")
        await page.sees("Spell the third line")
        await page.press("enter")
        await page.sees("Committed")
        assert repo.git("show", "--format=%s", "-U0").count("\n+third") == 1
        assert repo.git("status", "--porcelain") == " M parser.py\n?? notes.md"
        await page.send("/changes")
        await page.sees("0 of 2 pieces marked")
        await page.press("p")
        await page.sees("Push 2 commits of main to origin?")
        await page.answer("y")
        await page.sees("Pushed")
        assert Repo(bare).git("log", "--format=%s", "main") == "Spell the third line\nfirst"


async def test_a_hook_that_fails_is_shown_whole_and_the_message_and_marks_stay(
    environ: dict[str, str], tmp_path: Path
) -> None:
    repo = _repo(tmp_path)
    hook = repo.write(".git/hooks/pre-commit", "#!/bin/sh\nseq 1 12 | sed 's/^/problem /'\nexit 1\n")
    hook.chmod(0o755)
    async with screen(environ, repo.path, Answer(text="Proposed"), size=(110, 34)) as page:
        await page.send("/commit")
        await page.press("a")
        await page.sees("3 of 3 pieces marked")
        await page.press("enter")
        await page.sees("runs pre-commit")
        await page.sees("Proposed")
        await page.press("enter")
        text = await page.sees("Commit failed, nothing is changed")
        assert "problem 1\n" in text and "problem 12" in text
        hook.unlink()
        await page.press("escape")
        await page.sees("Proposed")
        await page.press("escape")
        await page.sees("3 of 3 pieces marked")
        assert repo.git("log", "--format=%s") == "first"


async def test_comments_become_one_prompt_with_file_line_and_quoted_lines(
    environ: dict[str, str], tmp_path: Path
) -> None:
    repo = _repo(tmp_path)
    async with screen(environ, repo.path, size=(110, 34)) as page:
        await page.send("/changes")
        await page.press("down", "enter", *["down"] * 5, "c")
        await page.sees("Comment:")
        await page.type("why this x?")
        await page.press("enter")
        await page.sees("why this x?")
        await page.press("s")
        text = await page.sees("Please handle these comments")
        assert "parser.py:3" in text and "> +third" in text and "why this x?" in text
        assert repo.git("diff", "--cached") == ""


async def test_findings_of_the_model_are_comments_of_the_checklist(environ: dict[str, str], tmp_path: Path) -> None:
    repo = _repo(tmp_path)
    finding = {"file": "parser.py", "line": 3, "severity": "error", "text": "Breaks for row 0."}
    answer = Answer(calls=(Call("StructuredOutput", {"summary": "One bug.", "findings": [finding]}),))
    async with screen(environ, repo.path, answer, answer, size=(110, 34)) as page:
        await page.send("/review")
        await page.sees("Review: 1 finding")
        await page.press("ctrl+x", "h")
        assert "0 of 3 pieces marked" in await page.sees("Breaks for row 0.")
        await page.press("down", "down")
        await page.sees("enter send it")
        await page.press("enter")
        assert "parser.py:3" in await page.sees("Please handle these comments")
        repo.commit("all of it")
        await page.press("ctrl+u", "ctrl+c")
        await page.press("ctrl+t")
        await page.sees("Variant: low")
        await page.send("/review HEAD")
        await page.sees("Review: 1 finding")
        assert [body.get("reasoning_effort") for body in page.world.server.bodies] == [None, "low"]
        await page.press("ctrl+x", "h")
        text = await page.sees("Changes  HEAD")
        assert "Breaks for row 0." in text and "marked" not in text and "push" not in text


async def test_an_empty_text_and_a_push_without_a_remote_say_what_is_missing(
    environ: dict[str, str], tmp_path: Path
) -> None:
    repo = _repo(tmp_path)
    async with screen(environ, repo.path, Answer(text="Spell it"), size=(110, 34)) as page:
        await page.send("/changes")
        await page.sees("0 of 3 pieces marked")
        await page.press("n")
        await page.sees("New branch: name")
        await page.press("enter")
        await page.sees("The name is empty")
        await page.press("escape")
        await page.sees("0 of 3 pieces marked")
        await page.press("a", "shift+c")
        await page.sees("Spell it")
        await page.press("ctrl+u", "enter")
        await page.sees("The message is empty")
        await page.press("escape")
        await page.sees("3 of 3 pieces marked")
        await page.press("p")
        await page.sees("the repository has no remote; add one with")
        assert repo.git("log", "--format=%s") == "first"
