"""The start page, questions of parallel calls, messages that stay readable, new files and files outside of the project."""

import asyncio
import json
import re
import threading
from pathlib import Path

import pytest
from textual import events

from opencode_tui.client.client import Client
from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.storage.paths import Paths
from opencode_tui.text.variant import variant_words
from opencode_tui.tui.actions.remote import do_request
from opencode_tui.tui.dialogs.permission import PermissionPanel
from opencode_tui.tui.dialogs.permission_case import PermissionCase, load_case
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


NEW = Call("write", {"filePath": "new.md", "content": "# New\n"})
ASK = {"permission": {"edit": "ask"}}


async def test_a_short_message_goes_after_its_time_and_a_problem_stays(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        chat = page.app.chat.opened
        do_request(chat, ScreenToastShown(message="Shared live again", variant="info", duration=300))
        await page.sees("Shared live again")
        await page.sees_no_more("Shared live again")
        do_request(chat, ScreenToastShown(message="It could not be done", variant="error", duration=1))
        await page.pilot.pause(0.05)
        await page.sees("It could not be done")


async def test_a_recent_session_is_opened_by_a_click(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="The first.")) as page:
        await page.send("say one")
        await page.sees("Done")
        await page.press("ctrl+x", "n")
        lines = (await page.sees("Recent sessions")).splitlines()
        assert any("Recent sessions" in line and "ctrl+x l all" in line for line in lines)
        row = next(at for at, line in enumerate(lines) if "Title: say one" in line)
        await page.pilot.click(offset=(lines[row].index("say one"), row))
        await page.sees("The first.")


async def test_a_recent_session_is_chosen_and_opened_by_keys(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="The first."), Answer(text="The second.")) as page:
        for prompt in ("say one", "say two"):
            await page.send(prompt)
            await page.sees("Done")
            await page.press("ctrl+x", "n")
            await page.sees("down select")
        await page.press("down")
        await page.sees("enter open   esc back")
        await page.press("up")
        await page.sees("down select")
        await page.press("up")
        await page.sees("▎ say two")
        await page.press("ctrl+c", "down", "escape")
        await page.sees("down select")
        await page.press("down", "x")
        await page.sees("▎ x")
        await page.press("backspace", "down", "down", "down", "enter")
        await page.sees("The first.")


async def test_keys_that_arrive_while_the_program_ends_are_dropped(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        app = page.app
    assert not app.screen_stack
    await app.on_event(events.Key("x", "x"))
    await app.on_event(events.Paste("pasted"))


async def test_a_long_title_leaves_room_for_the_age(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(100, 30)) as page:
        for title in ("Fix last_row for files without newline", "A title of many words " * 6):
            await page.world.client.sessions.create(CreateSession(title=title))
        await page.sees("Fix last_row for files without newline")
        text = await page.sees("A title of many words")
        lines = [line for line in text.splitlines() if "last_row" in line or "many words" in line]
        ages = [re.search(r"  \d+ s$", line) for line in lines]
        assert len({found.start() for found in ages if found}) == 1 and None not in ages
        assert any("…  " in line for line in lines)


async def test_the_last_recent_session_may_be_deleted_elsewhere_while_it_is_chosen(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="The first.")) as page:
        await page.send("say one")
        await page.sees("Done")
        session_id = page.session_id
        assert session_id is not None
        await page.press("ctrl+x", "n")
        await page.sees("down select")
        await page.press("down")
        await page.sees("enter open")
        await page.world.client.sessions.remove(session_id)
        await page.sees_no_more("Recent sessions")
        await page.press("enter", "x")
        await page.sees("▎ x")


async def test_the_first_start_names_no_earlier_prompts(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="The first.")) as page:
        assert "previous prompts" not in await page.sees("Type a request. f1 lists the keys.")
        await page.send("say one")
        await page.sees("Done")
        await page.press("ctrl+x", "n")
        shown = await page.sees("press up for previous prompts")
        assert "opencode-tui " in shown and "opencode_tui" not in shown


async def test_the_question_about_a_new_file_is_whether_to_create_it(environ: dict[str, str], folder: Path) -> None:
    again = Call("write", {"filePath": "new.md", "content": "# Newer\n"})
    answers = Answer(calls=(NEW,)), Answer(calls=(again,)), Answer(text="Written.")
    async with screen(environ, folder, *answers, settings=ASK) as page:
        await page.send("write it")
        await page.sees("Create this file?")
        await page.answer("y")
        await page.sees("Edit this file?")
        await page.answer("y")
        await page.sees("Written.")


async def test_parallel_calls_ask_in_their_order(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "opencode_tui.tui.dialogs.panel._now", lambda: 0
    )  # no question listens before the command is judged
    slow = "; ".join(f"rm -rf part{number}" for number in range(60))
    calls = (Call("bash", {"command": slow}), Call("write", {"filePath": "second.md", "content": "x\n"}))
    settings = {"permission": {"edit": "ask", "bash": "ask"}}
    async with screen(environ, folder, Answer(calls=calls), Answer(text="So."), settings=settings) as page:
        await page.send("do both")
        await page.sees("1 of 2")
        await page.sees("! rm -rf part0")
        assert "Create this file?" not in page.text()
        await page.answer("y")
        await page.sees("Create this file?")


async def test_a_question_that_loads_longer_does_not_replace_the_one_of_an_earlier_call(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()

    async def late(client: Client, request: PermissionRequest, *, origin: str) -> PermissionCase:
        case = await load_case(client, request, origin=origin)
        if request.permission == "edit":
            await go_on.wait()
        return case

    monkeypatch.setattr("opencode_tui.tui.chat.chat.load_case", late)
    slow = "; ".join(f"rm -rf part{number}" for number in range(60))
    calls = (Call("bash", {"command": slow}), Call("write", {"filePath": "second.md", "content": "x\n"}))
    settings = {"permission": {"edit": "ask", "bash": "ask"}}
    async with screen(environ, folder, Answer(calls=calls), Answer(text="So."), settings=settings) as page:
        await page.send("do both")
        await page.sees("n reject")  # the line of the call has the command before the question is there
        shown = page.app.query_one(PermissionPanel)
        go_on.set()  # the file was asked for first: the command takes longer to be judged
        for _ in range(10):
            await page.pilot.pause()
        assert page.app.query_one(PermissionPanel) is shown
        await page.answer("y")
        await page.sees("Create this file?")


async def test_a_message_stays_when_a_short_turn_ends(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.tui.chat.chat.READABLE_MS", 8_000)
    async with screen(environ, folder, Answer(calls=(NEW,)), Answer(text="Written."), settings=ASK) as page:
        await page.send("write it")
        await page.sees("a always allow all edits")
        await page.answer("a")
        await page.sees("Written.")
        await asyncio.sleep(0.6)
        assert "Always allowed all edits" in page.text()
        await page.sees("Done")
        assert "Always allowed" not in page.text()


async def outside(page: Page) -> str:
    await page.send("read it")
    return await page.sees("outside the project?")


async def test_a_question_names_the_file_outside_and_its_line_the_whole_path(
    environ: dict[str, str], folder: Path
) -> None:
    secret = folder.parent / "beside" / "notes.txt"
    secret.parent.mkdir()
    secret.write_text("one\n")
    given = f"../{secret.parent.name}/{secret.name}"
    calls = Answer(calls=(Call("read", {"filePath": given}),)), Answer(text="Read.")
    async with screen(environ, folder, *calls, size=(150, 34)) as page:
        text = await outside(page)
        assert "Read a file outside the project?" in text and str(secret) in text
        await page.answer("y")
        await page.sees("Read.")
        line = next(line for line in page.text().splitlines() if "✓ Read" in line)
        assert str(secret) in line and "../" not in line


async def test_a_subagent_session_names_its_agent_and_the_way_back(environ: dict[str, str], folder: Path) -> None:
    task = Call("task", {"description": "look around", "prompt": "look", "subagent_type": "explore"})
    answers = Answer(calls=(task,)), Answer(text="The child looked."), Answer(text="The parent is done.")
    async with screen(environ, folder, *answers, size=(120, 34)) as page:
        await page.send("go")
        await page.sees("The parent is done.")
        await page.sees("Done")
        assert page.text().splitlines()[-1].split()[0] == "build"
        await page.press("ctrl+x", "right")
        await page.sees("The child looked.")
        last = (await page.sees("ctrl+x up parent session")).splitlines()[-1]
        assert last.split()[0] == "explore"
        await page.press("ctrl+x", "up")
        await page.sees("The parent is done.")


async def test_a_project_at_the_root_says_why_it_asks(environ: dict[str, str], folder: Path) -> None:
    read = Answer(calls=(Call("read", {"filePath": str(folder / "a.txt")}),))
    (folder / "a.txt").write_text("one\n")
    async with screen(environ, Path("/"), read, Answer(text="Read."), size=(140, 34)) as page:
        await outside(page)
        text = await page.sees("/ is not a project folder, so every path is outside.")
        assert str(folder / "a.txt") in text
        await page.answer("y")
        await page.sees("Read.")


async def test_a_refused_key_of_the_settings_names_its_setting(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("<<error 401 bad key>>")
        text = await page.sees("rejected the API key")
        assert "Fix    correct provider.fake.options.apiKey in your settings" in text
        assert "run `opencode-tui auth login" not in text


async def test_keys_before_the_engine_is_open_are_done_afterwards(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, is_attached=False) as page:
        await page.press("ctrl+x", "t")
        await page.type("nor")
        assert not page.app.chat.is_open
        page.app.attach(page.world.client)
        await page.sees("1 of 18")  # they filter the list, as if typed later
        assert page.app.chat.prompt.editor.text == ""


async def test_what_is_typed_after_enter_before_the_engine_is_open_is_the_next_prompt(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="Yes."), is_attached=False) as page:
        await page.type("one")
        await page.press("enter")
        await page.type("two")
        page.app.attach(page.world.client)
        await page.sees("Yes.")
        assert page.app.chat.prompt.editor.text == "two"
        assert "▎ one " in page.text()


async def test_a_key_that_quits_is_not_held_behind_an_early_enter(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, is_attached=False) as page:
        await page.type("one")
        await page.press("enter")
        await page.type("two")
        await page.press("ctrl+c", "ctrl+c")  # clears the text, and may be for the prompt that was sent
        assert page.app.is_running
        await page.press("ctrl+c")
        assert not page.app.is_running


async def test_keys_without_another_model_or_variant_say_so(environ: dict[str, str], folder: Path) -> None:
    plain = {"provider": {"fake": {"models": {"fake-model": {"reasoning": False}}}}}
    async with screen(environ, folder, settings=plain) as page:
        await page.press("f2")
        await page.sees("No other recent model")
        await page.press("ctrl+t")
        await page.sees("This model has no variants")


async def test_a_key_cycles_the_variants_and_the_chosen_one_is_sent(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Yes."), Answer(text="No."), Answer(text="Well.")) as page:
        await page.send("one")
        await page.sees("Yes.")
        await page.press("ctrl+t")
        await page.sees("Variant: low")
        await page.sees("default · low · medium · high")
        await page.sees("fake-model low")
        await page.press("ctrl+t")
        await page.sees("Variant: medium")
        await page.send("two")
        await page.sees("No.")
        await page.press("ctrl+t", "ctrl+t")
        await page.sees("Variant: default")
        await page.send("three")
        await page.sees("Well.")
        efforts = [request.body.get("reasoning_effort") for request in page.world.server.requests]
        assert efforts == [None, "medium", None]


def write_gpt(environ: dict[str, str]) -> None:
    """Write settings with a model that has a default variant."""
    cost = {"input": 2, "output": 10, "cache_read": 0.2}
    known = {"limit": {"context": 400_000, "output": 32_000}, "cost": cost}
    file = Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "opencode.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"provider": {"fake": {"models": {"gpt-5.2": known}}}}))


async def test_the_status_line_the_key_and_the_list_show_the_default_variant(
    environ: dict[str, str], folder: Path
) -> None:
    write_gpt(environ)
    used = Answer(text="Yes.", usage=(40_000, 100, 0))
    async with screen(environ, folder, used, Answer(text="No."), settings={"model": "fake/gpt-5.2"}) as page:
        await page.sees("gpt-5.2 medium")
        await page.press("ctrl+t")
        await page.sees("default (medium) · none · low · high · xhigh · provider")
        await page.sees("gpt-5.2 none")
        await page.press(*["ctrl+t"] * 4)
        await page.sees("gpt-5.2 provider")
        await page.send("one")
        await page.sees("Yes.")
        await page.press("ctrl+t")
        await page.sees("Variant: default (medium)")
        await page.sees("may read 40.1 k tokens again, +$0.07")
        await page.send("two")
        await page.sees("No.")
        efforts = [request.body.get("reasoning_effort") for request in page.world.server.requests]
        assert efforts == [None, "medium"]
        words = [variant_words(model) for model in page.app.chat.opened.control.choice.models]
        assert "none to xhigh, default medium" in words


async def test_the_status_line_shows_the_variant_of_the_agent(environ: dict[str, str], folder: Path) -> None:
    write_gpt(environ)
    given = {"model": "fake/gpt-5.2", "agent": {"build": {"variant": "high"}}}
    async with screen(environ, folder, settings=given) as page:
        await page.sees("gpt-5.2 high")


async def test_the_variant_of_a_model_is_selected_again_at_the_next_start(
    environ: dict[str, str], folder: Path, paths: Paths
) -> None:
    stored = paths.state / "model-variants.json"
    async with screen(environ, folder) as page:
        await page.press("ctrl+t", "ctrl+t")
        await page.sees("Variant: medium")
    assert json.loads(stored.read_text()) == {"fake/fake-model": "medium"}
    async with screen(environ, folder, Answer(text="Yes.")) as page:
        await page.sees("fake-model medium")
        await page.send("one")
        await page.sees("Yes.")
        assert [request.body.get("reasoning_effort") for request in page.world.server.requests] == ["medium"]
        await page.press("ctrl+t", "ctrl+t")
        await page.sees("Variant: default")
    assert json.loads(stored.read_text()) == {}


async def test_variant_keys_before_the_models_are_read_count_once_they_are(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        control = page.app.chat.opened.control
        await control.choice.models_read.wait()
        control.choice.models_read.clear()
        await page.press("ctrl+t", "ctrl+t")
        await page.sees("The models are being read")
        assert control.choice.variant is None
        await control.choice.load_models()
        await page.sees("Variant: medium")


async def test_a_stored_variant_that_the_model_no_longer_has_is_not_used(
    environ: dict[str, str], folder: Path, paths: Paths
) -> None:
    stored = paths.state / "model-variants.json"
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_text('{"fake/fake-model": "huge", "other/model": "low", "damaged": 1}')
    async with screen(environ, folder, Answer(text="Yes.")) as page:
        await page.send("one")
        await page.sees("Yes.")
        assert "huge" not in page.text()
        await page.press("ctrl+t")
        await page.sees("Variant: low")
    assert json.loads(stored.read_text()) == {"fake/fake-model": "low", "other/model": "low"}


async def test_an_error_of_an_edit_is_for_the_user_and_not_for_the_model(environ: dict[str, str], folder: Path) -> None:
    (folder / "parser.py").write_text("x = 1\n")
    wrong = Call("edit", {"filePath": "parsr.py", "oldString": "x", "newString": "y"})
    async with screen(environ, folder, Answer(calls=(wrong,)), Answer(text="I see.")) as page:
        await page.send("edit it")
        await page.sees("I see.")
        text = await page.sees("No such file. Nothing was changed.")
        assert "oldString" not in text and "parser.py" in text


async def test_a_message_during_a_turn_gives_way_to_how_to_interrupt_it_but_a_failure_stays(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.tui.chat.chat.READABLE_MS", 60_000)
    async with screen(environ, folder) as page:
        await page.send("<<words 900>> <<slow 30>>")
        await page.sees("interrupt")
        page.app.chat.show_note("note", "Shared live with another terminal.")
        assert "interrupt" not in await page.sees("Shared live")
        monkeypatch.setattr("opencode_tui.tui.chat.chat.READABLE_MS", 0)
        await page.sees("esc interrupt")
        page.app.chat.show_note("failed", "It could not be done")
        await page.sees("It could not be done")
        await asyncio.sleep(1.5)  # longer than a second: the line is drawn again meanwhile
        assert "It could not be done" in page.text()


async def test_the_list_of_commands_shows_what_can_be_done_now(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="One."), size=(120, 60)) as page:
        await page.send("say one")
        await page.sees("Done")
        await page.press("ctrl+p")
        lines = (await page.sees("What do you want to do?")).splitlines()
        text = "\n".join(lines)
        first = next(at for at, line in enumerate(lines) if line.strip() == "Session")
        assert "New session" in lines[first + 1]
        assert not [
            words for words in ("Stop sharing", "subagent session", "Interrupt", "queued message") if words in text
        ]


async def test_equal_permission_rules_are_one_row_and_paths_are_short(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(160, 40)) as page:
        await page.send("/permissions")
        text = await page.sees("Built-in rules")
        rows = [line.split()[1:3] for line in text.splitlines() if line.split()[:1] in (["allow"], ["ask"], ["deny"])]
        assert ["question", "*"] in rows
        assert len(rows) == len({tuple(one) for one in rows})
        assert "lines" not in text.splitlines()[1]


async def test_a_question_behind_the_question_about_quitting_does_not_make_it_ignore_keys(
    environ: dict[str, str], folder: Path
) -> None:
    goes_on = threading.Event()
    model = Answer(text="Writing it.", calls=(NEW,), holds=(("it.", goes_on),))
    async with screen(environ, folder, model, settings=ASK) as page:
        await page.send("write")
        await page.sees("Writing")
        await page.press("ctrl+x", "q")
        await page.sees("Quit while the agent is running?")
        await page.answer("down")  # it accepts keys
        chat = page.app.chat.opened
        goes_on.set()
        await until(lambda: chat.panels._question is not None and chat.panels._question.is_mounted)
        await page.press("y")
        assert chat.prompt.editor.text == ""
        await page.ends()


async def test_a_prompt_that_the_engine_has_and_whose_run_is_not_known_here_is_asked_about_before_quitting(
    environ: dict[str, str], folder: Path
) -> None:
    """Its status came after the key: the program quit without a question, and the turn ended."""
    async with screen(environ, folder) as page:
        with page.app.chat.opened.sender._call(lambda: None) as give:
            give()
            await page.press("ctrl+x", "q")
            await page.sees("Quit while the agent is running?")
            await page.answer("escape")
            await page.sees_no_more("Quit while")
        await page.press("ctrl+x", "q")
        await page.ends()
