"""Finding a text in the conversation: marked, counted, also where it is folded."""

from pathlib import Path

import pytest
from textual import events

from opencode_tui.tui.conversation.find import FoundText
from opencode_tui.tui.dialogs.text_panel import FindPanel
from opencode_tui.tui.state.message import AnyItem, TextItem
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


LONG = "\n\n".join(f"Paragraph {n} has no such word." for n in range(60))
READ = Answer(text="It says needle here.\n", calls=(Call("read", {"filePath": "notes.txt"}),))


async def asked(page: Page) -> None:
    """Bring a session with one answer, a folded output and a long last answer onto the screen."""
    await page.send("read the notes")
    await page.sees("Paragraph 59")


def marked(page: Page) -> list[str]:
    """The texts on the screen that are drawn reversed."""
    strips = page.app.screen._compositor.render_strips()
    return [one.text for strip in strips for one in strip if one.style is not None and one.style.reverse]


async def test_a_text_is_counted_marked_and_gone_through_also_in_folded_output(
    environ: dict[str, str], folder: Path
) -> None:
    (folder / "notes.txt").write_text("first\n" * 5 + "the Needle in it\n" + "last\n" * 5)
    async with screen(environ, folder, READ, Answer(text=LONG)) as page:
        await asked(page)
        await page.press("ctrl+x", "slash")
        await page.sees("Find")
        await page.type("needle")
        await page.press("enter")
        text = await page.sees("2 of 2")
        assert "the Needle in it" in text
        assert "Needle" in marked(page)
        await page.press("n")
        text = await page.sees("1 of 2")
        assert "It says needle here" in text and "the Needle in it" not in text
        assert "needle" in marked(page)
        await page.press("N")
        await page.sees("the Needle in it")
        await page.press("up", "enter")
        await page.sees("2 of 2")
        await page.press("escape")
        await page.sees_no_more("2 of 2")
        assert "Needle" not in marked(page)
        assert page.app.chat.focused is page.app.chat.prompt.editor


async def test_words_after_the_command_are_found_at_once_and_can_be_changed(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text=LONG)) as page:
        await asked(page)
        await page.send("/find paragraph 3")
        await page.sees("of 11")
        await page.press("backspace", "backspace")
        await page.type(" 7 has")
        await page.press("enter")
        text = await page.sees("1 of 1")
        assert "Paragraph 7 has" in text
        await page.type("zzz")
        await page.press("enter")
        await page.sees("no match")


async def test_a_text_typed_fast_is_whole(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text=LONG)) as page:
        await asked(page)
        await page.send("/find paragraph")
        await page.sees("of 60")
        panel = page.app.chat.query_one(FindPanel)
        for letter in "xnone":
            panel.post_message(events.Key(letter, letter))
        await page.sees("paragraphxnone")


async def test_a_slash_in_the_focused_conversation_asks_for_a_text(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text=LONG)) as page:
        await asked(page)
        await page.press("ctrl+up", "slash")
        await page.type("Paragraph 2 ")
        await page.press("enter")
        await page.sees("1 of 1")


async def test_without_a_conversation_there_is_nothing_to_find(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("/find x")
        await page.sees("there is nothing to find")


def test_occurrences_are_counted_from_the_top_and_go_around() -> None:
    texts = ["a B", "none", "b b"]
    items: list[AnyItem] = [
        TextItem(str(at), "m", at=at, pieces=[text], has_words=True) for at, text in enumerate(texts)
    ]
    found = FoundText("b", items, "")
    assert found.total == 3
    found.start_at(items[1])
    assert found.current == (items[2], 0)
    found.step(1)
    assert found.current == (items[2], 1)
    found.step(1)
    assert found.current == (items[0], 0)


async def test_every_occurrence_of_a_long_output_is_reached_also_behind_the_cut_of_a_line(
    environ: dict[str, str], folder: Path
) -> None:
    lines = [f"row {n}" for n in range(900)]
    lines[3] = "x" * 300 + "needle a" + "x" * 300 + "needle b"
    lines[450], lines[899] = "needle c", "needle d"
    script = "\n".join(lines)
    (folder / "rows.txt").write_text(script + "\n")
    shown = Answer(calls=(Call("bash", {"command": "cat rows.txt", "description": "rows"}),))
    async with screen(environ, folder, shown, Answer(text=LONG)) as page:
        await asked(page)
        await page.send("/find needle")
        await page.sees("of 4")
        texts: dict[str, str] = {}
        for _ in range(4):
            at = await page.sees(" of 4")
            number = next(one for one in "1234" if f"{one} of 4" in at)
            texts[number] = at
            assert marked(page).count("needle") >= 1
            await page.press("enter")
            await page.sees(f"{int(number) % 4 + 1} of 4")
        assert "needle a" in texts["1"] and "…x" in texts["1"] and "needle b" in texts["2"]
        assert "440 lines before" in texts["3"] and "needle c" in texts["3"] and "row 451" in texts["3"]
        assert "889 lines before" in texts["4"] and "needle d" in texts["4"]
        await page.press("escape")
        await page.sees_no_more(" of 4")


async def test_letters_typed_right_behind_its_key_are_for_the_panel(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="needle")) as page:
        await page.send("hello")
        await page.sees("Done")
        for key in ("ctrl+x", "slash", *"needle", "enter"):
            page._deliver(key)
        await page.sees("1 of 1")
        assert page.app.chat.prompt.editor.text == ""
