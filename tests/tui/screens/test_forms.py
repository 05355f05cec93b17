"""Forms: agents, commands, skills and MCP servers made on the screen."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


async def test_a_command_is_made_in_a_form_and_works_at_once(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Shown."), size=(130, 40)) as page:
        await page.send("/create")
        await page.sees("No skill of your own yet")
        await page.press("end", "up", "up")
        await page.sees("add a command")
        await page.press("a")
        await page.sees("New command")
        await page.type("look")
        await page.press("tab", "tab", "tab")
        await page.type("show $1 now")
        text = await page.sees("  show $1 now")
        assert "commands/look.md" in text
        await page.press("ctrl+s")
        await page.sees("Made /look")
        await page.send("/look a.py")
        await page.sees("Shown.")
        assert "show a.py now" in str(page.world.server.bodies[0]["messages"][-1])


async def test_a_file_of_the_project_is_asked_for_first(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(100, 40)) as page:
        await page.send("/create")
        await page.sees("Agents, commands and skills")
        await page.press("a")
        await page.sees("New agent")
        await page.press("ctrl+s")
        await page.sees("The name needs lower-case letters")
        await page.type("reviewer")
        await page.press("tab")
        await page.type("Finds: faults")
        await page.press("tab", "right", "tab", "tab")
        await page.type("Be strict.")
        await page.press("tab")
        await page.type(" ")
        await page.sees(".opencode/agents/reviewer.md")
        await page.press("enter")
        await page.sees("Write this file of the project?")
        assert not (folder / ".opencode").exists()
        await page.answer("escape")
        await page.sees("New agent")
        await page.press("ctrl+s")
        await page.sees("Write this file of the project?")
        await page.answer("y")
        await page.sees("Made agent reviewer")
        written = (folder / ".opencode/agents/reviewer.md").read_text()
        assert written == '---\ndescription: "Finds: faults"\nmode: primary\n---\n\nBe strict.\n'
        await page.press("tab", "tab")
        await page.sees(" reviewer ")


async def test_a_server_is_added_and_tried_at_once(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(130, 40)) as page:
        await page.send("/mcp")
        await page.sees("No servers in your settings yet.")
        await page.press("a")
        await page.sees("New MCP server")
        await page.type("broken")
        await page.press("tab", "tab")
        await page.type(f"{sys.executable} -c 'raise SystemExit(3)'")
        await page.press("tab")
        await page.type("MODE=fast")
        await page.sees('"MODE": "fast"')
        await page.press("ctrl+s")
        text = await page.sees("Added to")
        assert "broken" in text and "failed" in text
        config = json.loads(next(Path(environ["HOME"]).rglob("opencode.json")).read_text())
        assert config["mcp"]["broken"]["environment"] == {"MODE": "fast"}
        await page.press("escape")


async def test_e_opens_the_file_of_a_server_and_reads_it_again(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = Path(environ["HOME"]) / "code"  # an editor with a window: the test has no terminal to give away
    editor.write_text('#!/bin/sh\nsed -i s/first/second/ "${2%%:*}"\necho "$2" > "$0.opened"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    own = Path(environ["HOME"]) / ".config" / "opencode-tui" / "opencode.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('{\n  "mcp": {\n    "files": {"type": "local", "command": ["first"], "enabled": false}\n  }\n}\n')
    async with screen(environ, folder, size=(130, 40)) as page:
        await page.send("/mcp")
        await page.sees("e open its file")
        await page.press("e")
        await page.sees(" second")
        assert Path(f"{editor}.opened").read_text() == f"{own}:3\n"
