"""Side questions on the screen: answered from the session, of which they are no part."""

import threading
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


def records(root: Path) -> dict[str, bytes]:
    """The messages and parts of all sessions below a folder, byte for byte."""
    return {
        str(one): one.read_bytes() for one in root.rglob("*.json") if "/message/" in str(one) or "/part/" in str(one)
    }


async def test_a_side_question_is_answered_in_a_panel_and_leaves_no_record(
    environ: dict[str, str], folder: Path
) -> None:
    answers = Answer(text="Rows are counted"), Answer(text="An `IndexError`."), Answer(text="In Python.")
    async with screen(environ, folder, *answers) as page:
        await page.send("count the rows")
        await page.sees("✓ Done")
        before = records(folder.parent)
        assert before
        await page.send("/btw what is rows[-1] of an empty list?")
        text = await page.sees("An IndexError.")
        assert "Side question" in text and "not part of the session" in text and "what is rows[-1]" in text
        sent = page.world.server.bodies
        assert sent[1]["messages"][: len(sent[0]["messages"])] == sent[0]["messages"]
        assert [sent[1][name] for name in ("model", "tools")] == [sent[0][name] for name in ("model", "tools")]
        assert sent[1].get("tool_choice") == sent[0].get("tool_choice")
        await page.answer("enter")
        await page.type("in which language?")
        await page.press("enter")
        await page.sees("In Python.")
        assert [one["role"] for one in page.world.server.bodies[2]["messages"]][-4:] == [
            "assistant", "user", "assistant", "user",
        ]  # fmt: skip
        await page.answer("escape")
        text = await page.sees_no_more("Side question")
        assert "In Python" not in text and "rows[-1]" not in text
        assert records(folder.parent) == before


async def test_a_side_question_is_answered_while_a_turn_runs(environ: dict[str, str], folder: Path) -> None:
    go = threading.Event()
    slow = Answer(text="the end of the turn", holds=(("end", go),))
    async with screen(environ, folder, slow, Answer(text="It counts rows.")) as page:
        await page.send("count the rows")
        await page.sees("the")
        await page.press("ctrl+q")
        await page.sees("Side question")
        await page.type("what does it do?")
        await page.press("enter")
        await page.sees("It counts rows.")
        last = page.world.server.bodies[1]["messages"][-1]
        assert last["role"] == "user" and "count the rows" in str(last) and "what does it do?" in str(last)
        await page.answer("escape")
        go.set()
        await page.sees("the end of the turn")


async def test_a_call_in_place_of_an_answer_is_not_run(environ: dict[str, str], folder: Path) -> None:
    call = Answer(calls=(Call("write", {"filePath": "made.txt", "content": "x"}),))
    async with screen(environ, folder, Answer(text="hello"), call, Answer(text="In words.")) as page:
        await page.send("hi")
        await page.sees("✓ Done")
        await page.send("/side make a file")
        await page.sees("In words.")
        assert page.world.server.bodies[2]["tool_choice"] == "none"
        assert not (folder / "made.txt").exists()


async def test_a_failed_side_question_says_why(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="hello"), Answer(status=400, body=b'{"error": "no"}')) as page:
        await page.send("/btw what now?")
        await page.sees("No session yet")
        await page.press("ctrl+u")
        await page.send("hi")
        await page.sees("✓ Done")
        await page.send("/btw what now?")
        await page.sees("400")
