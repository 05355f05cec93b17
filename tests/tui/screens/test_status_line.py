"""The status line: its fields by the settings, the branch with a sign for changes, and a command of the user's own."""

import json
from pathlib import Path

import pytest

from opencode_tui.tui.chrome import status_facts
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen
from tests.support.world.repo import make_repo


def line_of(page: Page) -> str:
    """The last row of the screen."""
    return page.text().split("\n")[-1]


async def shows(page: Page, words: str) -> str:
    """Wait until the last row has these words; return it."""
    for _ in range(750):
        if words in line_of(page):
            break
        await page.pilot.pause(0.02)
    assert words in line_of(page)
    return line_of(page)


@pytest.mark.slow
async def test_the_branch_is_shown_while_the_sidebar_is_folded(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_facts, "EVERY_MS", 0)
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    async with screen(environ, repo.path, Answer(text="done")) as page:
        line = await shows(page, "main")
        assert "main*" not in line
        repo.write("a.py", "x = 2\n")
        await page.send("hello")
        await shows(page, "main*")
        await page.resize(130, 34)
        await page.sees("Context")
        assert "main*" not in line_of(page)


async def test_fields_are_shown_in_the_chosen_order(environ: dict[str, str], folder: Path) -> None:
    settings = {"tui": {"status_line": {"fields": ["model", "folder", "agent", "approvals"]}}}
    async with screen(environ, folder, settings=settings, size=(200, 34)) as page:
        chosen = ("fake-model", folder.name, "build", "normal")
        for words in chosen:
            await shows(page, words)
        line = line_of(page)
        assert "sandbox" not in line
        order = [line.index(words) for words in chosen]
        assert order == sorted(order)


@pytest.mark.slow
async def test_the_command_gets_the_session_and_its_first_line_is_shown(environ: dict[str, str], folder: Path) -> None:
    log = folder / "given.json"
    command = f"cat > {log}; printf 'mine: %s\\nsecond' \"$(basename $PWD)\""
    settings = {"tui": {"status_line": {"command": command}}}
    async with screen(environ, folder, Answer(text="done"), settings=settings) as page:
        line = await shows(page, f"mine: {folder.name}")
        assert "second" not in line
        await page.send("hello")
        await page.sees("✓ Done")
        while json.loads(log.read_text() or "{}").get("sessionID") != page.session_id:
            await page.pilot.pause(0.02)
        given = json.loads(log.read_text())
        assert (given["cwd"], given["model"], given["agent"]) == (str(folder), "fake/fake-model", "build")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"command": "echo broken >&2; exit 3"}, "failed with exit code 3: broken"),
        ({"command": "sleep 30", "timeout": 0.1}, "took longer than 0.1 s"),
    ],
)
async def test_a_command_that_fails_is_reported_and_does_no_harm(
    environ: dict[str, str], folder: Path, line: dict[str, object], words: str
) -> None:
    async with screen(environ, folder, settings={"tui": {"status_line": line}}) as page:
        await page.sees(words)
        await shows(page, "command failed")
        await page.type("still here")
        await page.sees("still here")


@pytest.mark.slow
async def test_a_command_cannot_steer_the_terminal(environ: dict[str, str], folder: Path) -> None:
    settings = {"tui": {"status_line": {"command": "printf '\\033[2Jred'"}}}
    async with screen(environ, folder, settings=settings) as page:
        assert "\x1b" not in await shows(page, "red")


@pytest.mark.slow
async def test_the_way_to_help_is_there_at_80_columns_with_a_command_in_the_background(
    environ: dict[str, str], folder: Path
) -> None:
    call = Call("bash", {"command": "sleep 600", "description": "wait", "background": True})
    answers = Answer(calls=(call,)), Answer(text="It runs.")
    async with screen(environ, folder, *answers, size=(80, 24)) as page:
        await page.send("start it")
        await page.sees("It runs.")
        line = await shows(page, "f1 help")
        assert "● 1" in line
        assert "in the background" not in line


@pytest.mark.slow
async def test_a_click_on_the_approvals_asks_before_it_changes_them(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(120, 34)) as page:
        line = await shows(page, "normal")
        await page.pilot.click(offset=(line.index("normal") + 1, 33))
        await page.sees("asks nothing, stays in the sandbox")
        assert page.app.chat.opened.control.approvals == "normal"
        await page.press("down", "enter")
        await shows(page, "auto")
        assert page.app.chat.opened.control.approvals == "auto"
