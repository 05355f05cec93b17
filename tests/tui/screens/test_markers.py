"""What a marker of the prompt stands for is what is sent: in commands, from the history, and in what is given back."""

import base64
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste

from opencode_tui.schema.api.request import CommandInput, CreateSession, FileInput, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
OTHER_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
A = "\n".join(f"A{n}" for n in range(1, 7))
B = "\n".join(f"B{n}" for n in range(1, 7))
COLORED = "\n".join(f"\x1b[31mrow {n}\x1b[0m\u200b" for n in range(1, 7))
"""A long paste with characters that the editor removes."""

SETTINGS = {
    "command": {
        "greet": {"template": "Greetings to $ARGUMENTS", "description": "Greets somebody"},
        "words": {"template": "First $1, rest $2", "description": "Takes words"},
        "strict": {"template": "Strictly $ARGUMENTS", "model": "fake-anthropic/fake-model"},
    }
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in, with pictures."""
    work = tmp_path / "csvkit"
    work.mkdir()
    (work / "shot.png").write_bytes(PNG)
    (work / "other.png").write_bytes(OTHER_PNG)
    (work / "notes.md").write_text("NEEDLE_42\n")
    return work


async def paste(page: Page, text: str) -> None:
    """Paste as a terminal does, and wait for the marker."""
    markers = page.app.chat.prompt.editor.text.count("[")
    page.app.chat.prompt.editor.post_message(Paste(text))
    for _ in range(50):
        await page._settle()
        if page.app.chat.prompt.editor.text.count("[") > markers:
            return
    raise AssertionError(page.app.chat.prompt.editor.text)


def content(body: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the text of the newest message of the user, and the addresses of its pictures."""
    message = [one for one in body["messages"] if one["role"] == "user"][-1]
    if isinstance(message["content"], str):
        return message["content"], []
    texts = [part["text"] for part in message["content"] if part["type"] == "text"]
    pictures = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    return "\n".join(texts), pictures


def address(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


async def ask(page: Page, count: int) -> tuple[str, list[str]]:
    """Press enter, wait for the answer with this number, and return what was sent last."""
    await page.press("enter")
    await page.sees(f"Answer {count}.")
    await page.sees("✓ Done")
    return content(page.world.server.bodies[-1])


def answers(count: int) -> Sequence[Answer]:
    return [Answer(text=f"Answer {number}.") for number in range(1, count + 1)]


def sent_by(page: Page) -> str:
    """Return the text that the prompt would send, and leave the prompt as it is."""
    return page.app.chat.prompt.unsent[-1]


async def undo(page: Page) -> None:
    """Undo the last turn."""
    await page.press("ctrl+x", "u")
    await page.sees("Undo from here?")
    await page.answer("y")
    await page.sees("undone")


# Commands


async def test_the_shell_gets_a_long_paste_in_place_of_its_marker(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.type("!cat > copy.txt <<EOF\n")
        await paste(page, f"{A}\nEOF")
        await page.press("enter")
        await page.sees("Done")
        assert (folder / "copy.txt").read_text() == f"{A}\n"
        assert "[Pasted" not in page.text()


@pytest.mark.parametrize(
    ("typed", "behind", "expected"),
    [
        ("/greet ", "", f"Greetings to {A}"),
        ("/greet ", " please", f"Greetings to {A} please"),
        ("/greet\n", "", f"Greetings to {A}"),
        ("/greet two\n", "", f"Greetings to two\n{A}"),
        ("/words one ", "", f"First one, rest {' '.join(A.split())}"),
    ],
    ids=["alone", "with-words-behind", "in-the-next-line", "behind-a-line", "as-words"],
)
async def test_a_command_gets_a_long_paste(
    environ: dict[str, str], folder: Path, typed: str, behind: str, expected: str
) -> None:
    async with screen(environ, folder, *answers(1), settings=SETTINGS) as page:
        page.app.chat.prompt.editor.put(typed)
        await paste(page, A)
        await page.type(behind)
        assert await ask(page, 1) == (expected, [])


async def test_a_command_gets_the_pictures_of_its_prompt(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(1), settings=SETTINGS) as page:
        page.app.chat.prompt.editor.put("/greet ")
        await paste(page, str(folder / "shot.png"))
        await page.type(" and ")
        await paste(page, str(folder / "other.png"))
        text, pictures = await ask(page, 1)
        assert text == "Greetings to [Image 1] and [Image 2]"
        assert pictures == [address(PNG), address(OTHER_PNG)]


async def test_a_side_question_has_the_long_paste(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        await page.type("hello")
        await ask(page, 1)
        await page.type("/btw what is ")
        await paste(page, A)
        await page.press("enter")
        await page.sees("Answer 2.")
        assert content(page.world.server.bodies[-1])[0].endswith(f"what is {A}")


async def test_a_check_a_title_and_a_rule_have_the_long_paste(environ: dict[str, str], folder: Path) -> None:
    long_line = "word " * 250 + "end"
    async with screen(environ, folder, *answers(1)) as page:
        await page.type("hello")
        await ask(page, 1)
        session_id = page.session_id
        assert session_id is not None
        await page.type("/rename ")
        await paste(page, long_line)
        await page.press("enter")
        await page.sees("word word")
        assert (await page.world.client.sessions.get(session_id)).title == long_line
        await page.type("/until ")
        await paste(page, "true\n" * 5 + "touch checked.txt")
        await page.press("enter")
        await page.sees("passed")
        assert (folder / "checked.txt").exists()
        await page.type("# keep ")
        await paste(page, long_line)
        await page.press("enter")
        await page.sees("Keep this rule?")
        await page.answer("escape")
        assert page.app.chat.prompt.pop_draft().whole == f"# keep {long_line}"
        await page.type("# keep ")
        await paste(page, long_line)
        await page.press("enter")
        await page.sees("Keep this rule?")
        await page.answer("y")
        await page.sees("Rule added")
        assert (folder / "AGENTS.md").read_text() == f"- keep {long_line}\n"


async def test_a_compaction_gets_the_long_paste(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        await page.type("hello")
        await ask(page, 1)
        await page.type("/compact ")
        await paste(page, A)
        await page.press("enter")
        await page.sees("Compacted")
        assert json.dumps(A)[1:-1] in json.dumps(page.world.server.bodies[-1])


async def test_several_lines_behind_a_number_sign_are_a_prompt(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(1)) as page:
        await page.type("# see ")
        await paste(page, A)
        assert await ask(page, 1) == (f"# see {A}", [])


@pytest.mark.parametrize("typed", ["!echo ", "/btw what is ", "/until test ", "/rename ", "/compact ", "# use "])
async def test_where_no_picture_can_be_sent_the_prompt_stays_and_says_so(
    environ: dict[str, str], folder: Path, typed: str
) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        await page.type("hello")
        await ask(page, 1)
        page.app.chat.prompt.editor.put(typed)
        await paste(page, str(folder / "shot.png"))
        await page.press("enter")
        await page.sees("no pictures")
        draft = page.app.chat.prompt.pop_draft()
        assert draft.text == f"{typed}[Image 1]" and len(draft.parts()) == 1
        assert len(page.world.server.bodies) == 1


@pytest.mark.parametrize(
    ("typed", "first"), [("", "!touch made.txt"), ("", "/greet you"), ("/", "greet you"), ("", "/exit")]
)
async def test_what_a_paste_begins_with_makes_it_no_command(
    environ: dict[str, str], folder: Path, typed: str, first: str
) -> None:
    async with screen(environ, folder, *answers(1), settings=SETTINGS) as page:
        await page.type(typed)
        await paste(page, f"{first}\n{A}")
        if typed:
            await page.press("escape", "enter")
            await page.sees("Unknown command")
            assert page.app.chat.prompt.pop_draft().whole == f"/{first}\n{A}"
        else:
            assert await ask(page, 1) == (f"{first}\n{A}", [])
        assert not (folder / "made.txt").exists()


async def test_an_unknown_command_keeps_its_paste(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        page.app.chat.prompt.editor.put("/nosuch ")
        await paste(page, A)
        await page.press("enter")
        await page.sees("Unknown command /nosuch")
        assert page.app.chat.prompt.pop_draft().whole == f"/nosuch {A}"


async def test_a_long_command_without_a_session_comes_back_with_up(environ: dict[str, str], folder: Path) -> None:
    large = "a row\n" * 20_000
    async with screen(environ, folder, *answers(1)) as page:
        await page.type("/btw what is ")
        await paste(page, large)
        await page.press("enter")
        await page.sees("No session yet")
        await page.press("up")
        assert page.app.chat.prompt.pop_draft().whole == f"/btw what is {large}"


# The history


async def test_a_look_at_the_history_changes_no_paste(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        await paste(page, A)
        await page.press("ctrl+c")
        await page.sees("Ask anything")
        await page.type("hello")
        await ask(page, 1)
        await paste(page, B)
        await page.type(" BBB")
        await page.press("up", "up")
        assert sent_by(page) == A
        await page.press("down")
        assert sent_by(page) == "hello"


async def test_a_draft_is_the_same_after_a_look_at_the_history(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        await paste(page, A)
        await page.press("ctrl+c")
        await page.sees("Ask anything")
        await page.type("hello")
        await ask(page, 1)
        await paste(page, B)
        await page.type(" BBB")
        await page.press("up", "up", "down", "down")
        assert await ask(page, 2) == (f"{B} BBB", [])


async def test_two_cleared_pastes_of_the_same_size_are_two_entries(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        for text in (A, B):
            await paste(page, text)
            await page.press("ctrl+c")
            await page.sees("Ask anything")
        await page.press("up")
        assert sent_by(page) == B
        await page.press("up")
        assert sent_by(page) == A


@pytest.mark.parametrize("is_image", [False, True], ids=["text", "picture"])
async def test_a_stash_that_joins_a_draft_keeps_both_attachments(
    environ: dict[str, str], folder: Path, is_image: bool
) -> None:
    first, second = (str(folder / "shot.png"), str(folder / "other.png")) if is_image else (A, B)
    async with screen(environ, folder, *answers(1)) as page:
        await paste(page, first)
        page.app.chat.opened.run("prompt_stash")
        await page.sees("Stashed (1)")
        await paste(page, second)
        page.app.chat.opened.run("prompt_stash_pop")
        text, pictures = await ask(page, 1)
        if is_image:
            assert pictures == [address(PNG), address(OTHER_PNG)]
        else:
            assert text == f"{A}\n{B}"


async def test_undo_in_the_editor_brings_each_paste_itself(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(1)) as page:
        await paste(page, A)
        await ask(page, 1)
        await paste(page, B)
        editor, seen = page.app.chat.prompt.editor, [sent_by(page)]
        for _ in range(10):
            editor.apply("input_undo")
            seen.append(sent_by(page))
        assert {one for one in seen if one} == {A, B}


async def test_the_search_of_the_history_brings_the_paste(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.type("look at ")
        await paste(page, A)
        await page.press("ctrl+c")
        await paste(page, B)
        await page.press("ctrl+r")
        await page.sees("Search earlier prompts")
        await page.press("enter")
        assert page.app.chat.prompt.pop_draft().whole == f"look at {A}"


async def test_up_brings_a_sent_prompt_with_its_picture(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(4)) as page:
        await page.type("look at ")
        await paste(page, str(folder / "shot.png"))
        first = await ask(page, 1)
        await page.press("up")
        assert await ask(page, 2) == first == ("look at [Image 1]", [address(PNG)])
        await page.type("and ")
        await paste(page, str(folder / "other.png"))
        assert (await ask(page, 3))[1] == [address(OTHER_PNG)]
        await page.press("up", "up")
        assert await ask(page, 4) == first


async def test_up_brings_a_sent_paste_byte_for_byte(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        await page.type("why ")
        await paste(page, COLORED)
        first = await ask(page, 1)
        assert "\x1b[31m" in first[0]
        await page.press("up")
        assert await ask(page, 2) == first


async def test_the_next_run_has_the_words_of_a_prompt_and_no_marker_without_a_picture(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, *answers(1)) as page:
        await page.type("look at ")
        await paste(page, str(folder / "shot.png"))
        await page.type(" now")
        await ask(page, 1)
    async with screen(environ, folder) as page:
        await page.press("up")
        assert page.app.chat.prompt.editor.text == "look at  now"


# What is given back


async def test_an_undone_prompt_has_its_picture(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        await page.type("look at ")
        await paste(page, str(folder / "shot.png"))
        first = await ask(page, 1)
        await undo(page)
        assert page.app.chat.prompt.editor.text == "look at [Image 1]"
        assert await ask(page, 2) == first == ("look at [Image 1]", [address(PNG)])


async def test_redo_empties_the_prompt_that_undo_filled(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        await page.type("look at ")
        await paste(page, str(folder / "shot.png"))
        await ask(page, 1)
        await undo(page)
        await page.type("/redo")
        await page.press("enter")
        await page.sees("Restored")
        assert not page.app.chat.prompt.editor.text and "look at [Image 1]" in page.text()


@pytest.mark.parametrize("pasted", [A, COLORED, "see [Image 1] in\n" * 8], ids=["plain", "colored", "names-a-marker"])
async def test_an_undone_paste_is_sent_byte_for_byte(environ: dict[str, str], folder: Path, pasted: str) -> None:
    async with screen(environ, folder, *answers(3)) as page:
        await page.type("look at ")
        await paste(page, str(folder / "shot.png"))
        await ask(page, 1)
        await page.type("why ")
        await paste(page, pasted)
        await page.type(" now")
        first = await ask(page, 2)
        assert first == (f"why {pasted} now", [])
        await undo(page)
        assert await ask(page, 3) == first


@pytest.mark.parametrize(
    "text", ["read @notes.md", "see @shot.png", 'see @"shot.png" and @notes.md#L1', "mail a@b.c [Image 1]"]
)
async def test_files_that_a_prompt_names_are_sent_once_more(environ: dict[str, str], folder: Path, text: str) -> None:
    async with screen(environ, folder, *answers(2)) as page:
        page.app.chat.prompt.editor.put(text)
        await page.press("escape")
        first = await ask(page, 1)
        await undo(page)
        assert page.app.chat.prompt.editor.text == text
        assert await ask(page, 2) == first


async def test_pictures_in_any_order_are_the_same_again_in_another_run(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(1)) as page:
        await page.type("a ")
        await paste(page, str(folder / "shot.png"))
        page.app.chat.prompt.editor.move_cursor((0, 0))
        await paste(page, str(folder / "other.png"))
        first = await ask(page, 1)
        session_id = page.session_id
        assert first == ("[Image 2]a [Image 1]", [address(PNG), address(OTHER_PNG)]) and session_id is not None
    async with screen(environ, folder, *answers(1)) as page:
        await page.app.chat.opened.control.open(session_id)
        await page.sees("Answer 1.")
        await undo(page)
        assert await ask(page, 1) == first


async def test_a_picture_whose_number_another_one_has_here_gets_a_free_one(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, *answers(1)) as page:
        await page.type("look at ")
        await paste(page, str(folder / "shot.png"))
        await ask(page, 1)
        session_id = page.session_id
        assert session_id is not None
    async with screen(environ, folder, *answers(2)) as page:
        await page.type("other ")
        await paste(page, str(folder / "other.png"))
        await page.press("ctrl+c")
        await page.app.chat.opened.control.open(session_id)
        await page.sees("Answer 1.")
        await undo(page)
        draft = page.app.chat.prompt.editor.text
        text, pictures = await ask(page, 1)
        assert text == draft and pictures == [address(PNG)]
        await page.press("up", "up")
        assert (await ask(page, 2))[1] == [address(OTHER_PNG)]


async def test_files_of_another_client_are_given_back(environ: dict[str, str], folder: Path) -> None:
    files = [
        FileInput(mime="image/png", filename="shot.png", url=address(PNG)),
        FileInput(mime="text/plain", filename="notes.md", url=(folder / "notes.md").as_uri()),
    ]
    async with screen(environ, folder, *answers(2)) as page:
        session = await page.world.client.sessions.create(CreateSession())
        model = ModelRef(provider_id="fake", model_id="fake-model")
        given = PromptInput(model=model, parts=[TextInput(text="look"), *files])
        await page.world.client.prompts.prompt(session.id, given)
        await page.app.chat.opened.control.open(session.id)
        await page.sees("Answer 1.")
        first = content(page.world.server.bodies[-1])
        assert "NEEDLE_42" in first[0]
        await undo(page)
        assert page.app.chat.prompt.editor.text == "look [Image 1] [File 1]"
        text, pictures = await ask(page, 2)
        assert pictures == first[1] == [address(PNG)] and "NEEDLE_42" in text


async def test_the_picture_that_a_commands_arguments_name_is_sent_once(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2), settings=SETTINGS) as page:
        page.app.chat.prompt.editor.put("/greet @shot.png")
        await page.press("escape")
        first = await ask(page, 1)
        await undo(page)
        assert page.app.chat.prompt.editor.text == "Greetings to @shot.png"
        assert (await ask(page, 2))[1] == first[1] == [address(PNG)]


async def test_a_queued_prompt_comes_back_with_one_marker_for_its_picture(
    environ: dict[str, str], folder: Path
) -> None:
    go = threading.Event()
    held = Answer(text="word1 word2", holds=(("word2", go),))
    async with screen(environ, folder, held, Answer(text="Answer 1."), settings={"tui": {"delivery": "queue"}}) as page:
        await page.send("begin")
        await page.sees("word1")
        await page.type("second queued ")
        await paste(page, str(folder / "shot.png"))
        await page.press("enter")
        await page.sees("next turn  second queued")
        await page.type("third ")
        await paste(page, str(folder / "other.png"))
        await page.press("enter")
        await page.sees("third [")
        await page.press("ctrl+x", "k")
        await page.sees_no_more("next turn  third")
        await page.press("ctrl+x", "k")
        await page.sees_no_more("next turn")
        assert page.app.chat.prompt.editor.text == "second queued [Image 1]\nthird [Image 2]"
        go.set()
        await page.sees("✓ Done")
        assert await ask(page, 1) == ("second queued [Image 1]\nthird [Image 2]", [address(PNG), address(OTHER_PNG)])


# The variant, and when a command is read


async def user_records(page: Page) -> list[Any]:
    assert page.session_id is not None
    messages = await page.world.client.messages.list(page.session_id)
    return [one.info for one in messages if one.info.role == "user"]


@pytest.mark.parametrize("text", ["plain", "/greet there", "!true", "/until true"])
async def test_what_is_sent_has_the_agent_the_model_and_the_variant_of_the_status_line(
    environ: dict[str, str], folder: Path, text: str
) -> None:
    async with screen(environ, folder, *answers(2), settings=SETTINGS) as page:
        await page.press("ctrl+t", "ctrl+t")
        await page.sees("Variant: medium")
        await page.press("tab")
        await page.sees("plan")
        page.app.chat.prompt.editor.put(text)
        await page.press("escape", "enter")
        await page.sees("passed" if "until" in text else "Done")
        record = (await user_records(page))[-1]
        assert (record.agent, str(record.model), record.variant) == ("plan", "fake/fake-model", "medium")
        sent = [body.get("reasoning_effort") for body in page.world.server.bodies]
        assert sent == ([] if text[0] == "!" or "until" in text else ["medium"])


async def test_a_command_with_a_model_of_its_own_gets_no_variant_of_another_one(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, *answers(1), settings=SETTINGS) as page:
        await page.press("ctrl+t")
        await page.sees("Variant: low")
        await page.send("/strict now")
        await page.sees("Done")
        record = (await user_records(page))[-1]
        assert (str(record.model), record.variant) == ("fake-anthropic/fake-model", None)


async def test_a_side_question_has_the_variant_of_the_session(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *answers(2), settings=SETTINGS) as page:
        await page.press("ctrl+t")
        await page.sees("Variant: low")
        await page.send("/greet you")
        await page.sees("✓ Done")
        await page.send("/btw why?")
        await page.sees("Answer 2.")
        assert [body.get("reasoning_effort") for body in page.world.server.bodies] == ["low", "low"]


async def test_a_command_that_is_sent_during_a_turn_waits_for_its_end_if_messages_are_queued(
    environ: dict[str, str], folder: Path
) -> None:
    go = threading.Event()
    held = Answer(text="word1 word2", holds=(("word2", go),))
    settings = {**SETTINGS, "tui": {"delivery": "queue"}}
    async with screen(environ, folder, held, *answers(1), settings=settings) as page:
        await page.send("begin")
        await page.sees("word1")
        await page.send("/greet there")
        await page.sees("next turn  Greetings to there")
        go.set()
        text = await page.sees("Answer 1.")
        assert text.index("word2") < text.index("▎ Greetings to there") < text.index("Answer 1.")


async def test_a_command_that_is_sent_during_a_turn_steers_it_otherwise(environ: dict[str, str], folder: Path) -> None:
    go = threading.Event()
    held = Answer(text="word1 word2", holds=(("word2", go),))
    async with screen(environ, folder, held, *answers(1), settings=SETTINGS) as page:
        await page.send("begin")
        await page.sees("word1")
        await page.send("/greet there")
        await page.sees("Greetings to there")
        go.set()
        await page.sees("Answer 1.")
        assert "Greetings to there" in json.dumps(page.world.server.bodies[-1])


async def test_a_shell_command_during_a_turn_stays_in_the_prompt(environ: dict[str, str], folder: Path) -> None:
    go = threading.Event()
    held = Answer(text="word1 word2", holds=(("word2", go),))
    async with screen(environ, folder, held) as page:
        await page.send("begin")
        await page.sees("word1")
        await page.type("!cat <<EOF\n")
        await paste(page, f"{A}\nEOF")
        await page.press("enter")
        await page.sees("running")
        assert page.app.chat.prompt.pop_draft().whole == f"!cat <<EOF\n{A}\nEOF"
        go.set()
        await page.sees("✓ Done")


@pytest.mark.parametrize("second", ["/greet there", "and this"])
async def test_what_is_sent_directly_behind_the_first_prompt_is_in_the_same_session(
    environ: dict[str, str], folder: Path, second: str
) -> None:
    async with screen(environ, folder, settings=SETTINGS) as page:
        box = page.app.chat.prompt
        for text in ("begin", second):
            box.editor.put(text)
            box.editor.submit()
        await page.sees("▎ begin")
        await page.sees("Greetings to there" if second.startswith("/") else second)
        await page.sees("✓ Done")
        assert len(await page.world.client.sessions.list()) == 1
        texts = [one.parts[0].text for one in await page.world.messages(await sole(page)) if one.info.role == "user"]
        assert texts == ["begin", second.replace("/greet", "Greetings to")]


async def sole(page: Page) -> Any:
    (session,) = await page.world.client.sessions.list()
    return session


async def test_a_waiting_command_is_a_field_of_the_api(environ: dict[str, str], folder: Path) -> None:
    given = CommandInput.model_validate({"command": "greet", "arguments": "you", "delivery": "queue", "variant": "low"})
    assert given.to_dict() == {"command": "greet", "arguments": "you", "delivery": "queue", "variant": "low"}
