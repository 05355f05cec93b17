"""The timeline page: changes of a turn and back, the undo of several turns, and counts that agree."""

import re
from pathlib import Path

import pytest

from opencode_tui.tui.app import OpenCodeApp
from opencode_tui.tui.options import StartOptions
from opencode_tui.tui.pages.timeline import TimelineScreen
from opencode_tui.tui.prompt.draft import Attachment
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story
from tests.support.terminal.screen import Page, look, screen
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session

pytestmark = pytest.mark.slow


ONE = Call("write", {"filePath": "one.md", "content": "# The first file\n"})
TWO = Call("write", {"filePath": "two.md", "content": "# The second file\n"})
AGAIN = Call("write", {"filePath": "one.md", "content": "# Another heading\n"})
SIZE = (140, 40)


async def turn(page: Page, text: str, words: str) -> None:
    await page.send(text)
    await page.sees(words)
    await page.sees("Done")


async def test_the_changes_of_a_turn_are_shown_and_escape_returns_to_the_timeline(
    environ: dict[str, str], folder: Path
) -> None:
    answers = (
        Answer(calls=(ONE,)),
        Answer(text="First."),
        Answer(calls=(TWO,)),
        Answer(text="Second."),
        Answer(text="Third."),
    )
    async with screen(environ, folder, *answers, size=SIZE) as page:
        for text, words in (("write one", "First."), ("write two", "Second."), ("say", "Third.")):
            await turn(page, text, words)
        await page.press("ctrl+x", "g")
        text = await page.sees("Reverting to")
        tokens, changes = (re.search(rf"{head} +(.*?)  ", text) for head in ("Tokens", "Changes"))
        assert tokens is not None and len(tokens[1]) == 3 and changes is not None and changes[1] == "↶↶"
        await page.press("d")
        await page.sees("No file changes in this turn")
        await page.press("up", "up", "d")
        text = await page.sees("# The first file")
        assert "file 1 of 1" in text and "two.md" not in text
        await page.press("escape")
        text = await page.sees("revert to here")
        assert "▎ Reverting" not in text and "Timeline" in text
        await page.press("down", "d")
        await page.sees("# The second file")
        await page.press("escape", "slash", *"fdr")
        await page.sees("No matches")
        await page.press("ctrl+u", *"one.md", "enter")
        text = await page.sees("1 turn ·")
        assert "write one" in text and "write two" not in text
        await page.press("d")
        await page.sees("# The first file")
        await page.press("escape", "slash", "escape")
        await page.sees("3 turns ·")
        await page.press("escape")
        await page.sees("Ask anything")


async def test_the_days_of_a_session_are_named_between_its_turns() -> None:
    story = Story()
    for at, request in (("-2880", "begin"), ("-1440", "go on"), ("-1438", "more"), ("-2", "end")):
        story.user(request, at)
        story.answer(["Done."], at=at)
    script = Script([session("Days")], story.messages, directory=Path(ROOT))
    app = OpenCodeApp(StartOptions(script.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=SIZE) as pilot:
        app.attach(as_client(ScriptedClient(script)))
        page = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        await page.sees("Ask anything")
        await page.press("ctrl+x", "g")
        text = await page.sees("4 turns")
        named = re.findall(r"Dec \d+|Today|(?<=[◆●▎┃] )(?:begin|go on|more|end)", text)
        assert named == ["Dec 24", "begin", "Dec 25", "go on", "more", "Today", "end"]


async def test_an_undo_of_several_turns_from_the_timeline_shows_their_changes(
    environ: dict[str, str], folder: Path
) -> None:
    answers = Answer(calls=(ONE,)), Answer(text="First."), Answer(calls=(AGAIN, TWO)), Answer(text="Second.")
    async with screen(environ, folder, *answers, size=SIZE) as page:
        await turn(page, "write one", "First.")
        await turn(page, "write it again", "Second.")
        await page.press("ctrl+x", "g")
        await page.sees("Reverting to")
        await page.press("up", "r")
        await page.sees("d show the diff")
        await page.answer("d")
        text = await page.sees("# Another heading")
        assert "file 1 of 2" in text and "# The first file" not in text
        await page.press("escape")
        await page.sees("Undo from here?")
        await page.answer("y")
        await page.sees("undone")
        assert not (folder / "one.md").exists() and not (folder / "two.md").exists()


async def test_the_timeline_and_its_preview_count_the_same_turns(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="First."), Answer(text="Second."), size=SIZE) as page:
        await turn(page, "say one", "First.")
        await page.send("!echo counted")
        await page.sees("│ counted")
        await page.sees("Done")
        page.app.chat.prompt.attach(Attachment(data=b"\x89PNG", mime="image/png", name="shot.png"))
        await page.press("enter")
        await page.sees("Second.")
        await page.sees("Done")
        await page.press("ctrl+x", "g")
        await page.sees("Reverting to")
        await page.press("home")
        text = await page.sees("Removes 3 turns")
        assert re.search(r"Timeline +3 turns", text)
        assert "! echo counted" in text and "[Image 1]" in text


async def test_a_click_on_a_bar_and_the_arrows_go_to_its_turn(environ: dict[str, str], folder: Path) -> None:
    answers = [Answer(text=f"Answer {n}. " + "word " * (400 if n == 2 else 1)) for n in range(3)]
    async with screen(environ, folder, *answers, size=SIZE) as page:
        for n in range(3):
            await turn(page, f"question {n}", f"Answer {n}.")
        await page.press("ctrl+x", "g")
        await page.sees("Reverting to")
        timeline = page.app.screen
        assert isinstance(timeline, TimelineScreen)
        lines = page.text().split("\n")
        y = next(at for at, line in enumerate(lines) if "new tokens" in line)
        x = lines[y].index("Tokens") + len("Tokens    ")
        turns = [one.message_id for one in timeline._moments]
        await page.pilot.click(offset=(x, y))
        assert timeline.listing.chosen == turns[0]
        await page.press("right")
        assert timeline.listing.chosen == turns[1]
        await page.press("right", "right")
        assert timeline.listing.chosen == turns[2]
        await page.press("left", "left", "left")
        assert timeline.listing.chosen == turns[0]
        await page.pilot.click(offset=(x + 2, y))
        assert timeline.listing.chosen == turns[2]
        await page.pilot.click(offset=(x + 20, y))
        assert timeline.listing.chosen == turns[2]


async def test_an_undone_turn_says_so(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Answer 0."), Answer(text="Answer 1."), size=(80, 24)) as page:
        for n in range(2):
            await turn(page, f"question {n}", f"Answer {n}.")
        await page.press("ctrl+x", "u")
        await page.sees("Undo from here?")
        await page.answer("y")
        await page.sees("undone")
        await page.press("ctrl+x", "g")
        lines = (await page.sees("jump")).splitlines()
        first, second = (next(line for line in lines if f"question {n}" in line) for n in range(2))
        assert "undone" in second and "undone" not in first
