"""Commands in the sandbox as the user of the screen meets them, on the real engine."""

from pathlib import Path

import pytest

from opencode_tui.engine.sandbox import own_program
from opencode_tui.engine.sandbox.own_program import find_installation
from opencode_tui.engine.sandbox.tier import choose
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

DONE = Answer(text="Done.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "csvkit"
    work.mkdir()
    return work


@pytest.fixture(autouse=True)
def _tier(environ: dict[str, str], tmp_path: Path) -> None:
    status = choose("auto", environ, tmp_path)
    if not status.works:
        pytest.skip(f"no sandbox works here: {status.reason}")


def bash(command: str) -> Answer:
    return Answer(calls=(Call("bash", {"command": command, "description": "x"}),))


@pytest.mark.slow
async def test_an_ordinary_command_runs_inside_without_a_question(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, bash("echo x > made; echo inside"), DONE) as page:
        await page.send("go")
        text = await page.sees("✓ Done")
        assert "outside" not in text and (folder / "made").exists()


async def test_a_program_that_runs_from_the_project_is_said(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "opencode_tui").mkdir()
    monkeypatch.setattr(own_program, "_PACKAGE", folder / "opencode_tui")
    find_installation.cache_clear()
    try:
        async with screen(environ, folder) as page:
            text = await page.sees("sandbox, except this program")
            assert "Commands can change this program" in text
            assert "It runs from the source of this project." in text
    finally:
        find_installation.cache_clear()


@pytest.mark.slow
async def test_a_yes_runs_what_needs_the_outside_there(environ: dict[str, str], folder: Path, tmp_path: Path) -> None:
    away = tmp_path / "elsewhere.txt"
    async with screen(environ, folder, bash(f"echo x > {away}"), DONE) as page:
        await page.send("go")
        await page.sees("Run this outside the sandbox?")
        assert not away.exists()
        await page.answer("y")
        assert "outside" in await page.sees("✓ Done")
        assert away.read_text() == "x\n"


@pytest.mark.slow
async def test_a_protected_file_that_a_command_made_is_removed(environ: dict[str, str], folder: Path) -> None:
    make = "python3 -c \"open(chr(46) + 'envrc', 'w').write('x')\""
    async with screen(environ, folder, bash(make), DONE) as page:
        await page.send("go")
        await page.sees("Keep these protected files?")
        await page.sees("The command created .envrc. Such files can start programs later.")
        await page.answer("r")
        await page.sees("undid 1 protected file")
        assert not (folder / ".envrc").exists()


@pytest.mark.slow
async def test_in_the_mode_ask_a_question_says_why_it_is_asked(environ: dict[str, str], folder: Path) -> None:
    settings = {"experimental": {"approvals": "ask"}}
    async with screen(environ, folder, bash("echo a; echo b"), DONE, settings=settings) as page:
        await page.send("go")
        text = await page.sees("Approvals are set to ask for every edit and command. Working directory:")
        assert "allowed" not in text
        await page.answer("y")
        await page.sees("✓ Done")


@pytest.mark.slow
async def test_a_built_plan_is_carried_out_by_the_build_agent(environ: dict[str, str], folder: Path) -> None:
    plan = "1. Do one in `a/b.py`\n2. Do two\n"
    write = Call("write", {"filePath": ".opencode/plans/p.md", "content": plan})
    answers = Answer(calls=(write,)), Answer(calls=(Call("plan_exit", {}),)), DONE, Answer(text="Built.")
    async with screen(environ, folder, *answers) as page:
        await page.press("tab")
        await page.sees(" plan  fake/fake-model")
        await page.send("plan it")
        text = await page.sees("Plan ready. Start building?")
        assert "1 file, 2 steps" in text and "2  Do two" in text
        await page.answer("y")
        await page.sees(" build  fake/fake-model")
