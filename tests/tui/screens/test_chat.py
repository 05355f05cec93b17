"""The chat with the real engine: what a person does, and what they see."""

import asyncio
import gc
import inspect
import json
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from textual import events
from textual.timer import Timer

from opencode_tui.tui.actions.run import ARMED_MS
from opencode_tui.tui.actions.session import open_session
from opencode_tui.tui.chat import start
from opencode_tui.tui.chrome.status_line import Pressed
from opencode_tui.tui.options import StartOptions
from tests.support.provider.list_server import list_server
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen
from tests.support.world.distribution import installed
from tests.support.world.waiting import PATIENCE_S

ASKS = {"permission": {"bash": {"*": "ask", "ls *": "allow"}, "edit": "ask"}}
TOUCH = Call("bash", {"command": "touch made && ls -la", "description": "x"})
WRITE = Call("write", {"filePath": "notes.md", "content": "# Hi\n"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in."""
    work = tmp_path / "csvkit"
    work.mkdir()
    return work


@pytest.mark.slow
async def test_each_part_of_a_command_is_shown_with_its_verdict(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(TOUCH,)), settings=ASKS) as page:
        await page.send("make it")
        text = await page.sees("run once")
        assert "! touch made     needs approval   bash: ask, OPENCODE_CONFIG_CONTENT" in text
        assert "✓ ls -la         allowed" in text
        assert "2 of 3 parts need approval. Working directory:" in text


@pytest.mark.slow
async def test_always_stores_the_rule_that_its_key_names(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(TOUCH,)), Answer(text="Made."), settings=ASKS) as page:
        await page.send("make it")
        await page.sees('a always allow "touch *"')
        await page.answer("a")
        await page.sees("Made.")
        assert (folder / "made").exists()
        assert [one.pattern for one in await page.world.client.rules.grants("bash", None)] == ["touch *"]


@pytest.mark.slow
async def test_a_rejection_takes_a_word_to_the_agent(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(TOUCH,)), Answer(text="I see."), settings=ASKS) as page:
        await page.send("make it")
        await page.sees("run once")
        await page.answer("n")
        await page.sees("what should the agent do instead?")
        await page.type("use a file ")
        assert page.app.focused is not None
        page.app.focused.post_message(events.Paste("with a row\n" * 2_000))
        await page.sees("with a row")
        await page.press("enter")
        await page.sees("I see.")
        sent = str(page.world.server.bodies)
        assert "use a file" in sent and sent.count("with a row") >= 2_000
        assert not (folder / "made").exists()


@pytest.mark.slow
async def test_a_turn_that_a_rejection_ended_is_not_done(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(TOUCH,)), settings=ASKS) as page:
        await page.send("make it")
        await page.sees("run once")
        await page.answer("n")
        await page.sees("what should the agent do instead?")
        await page.press("enter")
        shown = await page.sees("Stopped  you rejected a tool call")
        assert "✓ Done" not in shown and "You rejected this" in shown
        assert [line for line in shown.splitlines() if "Bash" in line and line.rstrip().endswith("rejected")]


@pytest.mark.slow
async def test_a_long_paste_is_written_out_where_the_settings_want_it(environ: dict[str, str], folder: Path) -> None:
    settings = {"experimental": {"disable_paste_summary": True}}
    async with screen(environ, folder, settings=settings) as page:
        page.app.chat.prompt.paste("\n".join(f"line {number}" for number in range(40)))
        shown = await page.sees("line 39")
        assert "[Pasted" not in shown


@pytest.mark.slow
async def test_several_questions_are_counted(environ: dict[str, str], folder: Path) -> None:
    two = (
        Call("bash", {"command": "touch a", "description": "x"}),
        Call("bash", {"command": "touch b", "description": "x"}),
    )
    async with screen(environ, folder, Answer(calls=two), Answer(text="Both."), settings=ASKS) as page:
        await page.send("make both")
        await page.sees("1 of 2")
        await page.answer("y")
        await page.sees_no_more("1 of 2")
        await page.sees("run once")
        await page.answer("y")
        await page.sees("Both.")


@pytest.mark.slow
async def test_an_edit_is_asked_for_with_its_diff(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(WRITE,)), Answer(text="Ok."), settings=ASKS) as page:
        await page.send("write it")
        text = await page.sees("Create this file?")
        assert "notes.md" in text
        assert "1 + # Hi" in text
        assert "+1" in text


async def test_undo_shows_first_what_it_does_and_redo_brings_it_back(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(WRITE,)), Answer(text="Written.")) as page:
        await page.send("write it")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "u")
        text = await page.sees("Undo from here?")
        assert "Undo from here" in text
        assert "A notes.md    deleted: created by the agent" in text
        assert (folder / "notes.md").exists()
        await page.answer("y")
        await page.sees("3 messages undone")
        assert not (folder / "notes.md").exists()
        assert page.app.chat.prompt.editor.text == "write it"
        await page.press("ctrl+x", "r")
        await page.sees("Written.")
        assert (folder / "notes.md").read_text() == "# Hi\n"


@pytest.mark.slow
@pytest.mark.parametrize(("key", "marker"), [("c", "3 messages undone"), ("f", "Files undone · 1 file removed")])
async def test_the_conversation_or_the_files_can_be_undone_alone(
    environ: dict[str, str], folder: Path, key: str, marker: str
) -> None:
    async with screen(environ, folder, Answer(calls=(WRITE,)), Answer(text="Written.")) as page:
        await page.send("write it")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "u")
        text = await page.sees("y undo both")
        assert "undo messages, keep files" in text and "c conversation only" in text and "f files only" in text
        await page.answer(key)
        text = await page.sees(marker)
        assert ("Written." in text, (folder / "notes.md").exists()) == ((True, False) if key == "f" else (False, True))
        await page.press("ctrl+x", "r")
        await page.sees_no_more("undone")
        assert (folder / "notes.md").read_text() == "# Hi\n"
        await page.sees("Written.")


@pytest.mark.slow
async def test_the_reminder_of_undone_files_is_not_shown(environ: dict[str, str], folder: Path) -> None:
    answers = (Answer(calls=(WRITE,)), Answer(text="Written."), Answer(text="Second answer."))
    async with screen(environ, folder, *answers) as page:
        await page.send("write it")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "u")
        await page.sees("f files only")
        await page.answer("f")
        await page.sees("Files undone")
        await page.send("go on")
        text = await page.sees("Second answer.")
        assert "go on" in text and "Written." in text
        assert "system-reminder" not in text and "The user undid" not in text and "Files undone" not in text


@pytest.mark.slow
async def test_escape_keeps_everything(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(WRITE,)), Answer(text="Written.")) as page:
        await page.send("write it")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "u")
        await page.sees("esc cancel")
        await page.answer("escape")
        await page.sees_no_more("Undo from here")
        assert (folder / "notes.md").exists()


async def test_two_escapes_interrupt_and_one_does_not(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("<<words 200>> <<slow 30>>")
        await page.sees("word3")
        await page.press("escape")
        await page.sees("again to interrupt")
        await page.sees("word9")
        await page.press("escape")
        text = await page.sees("Interrupted by you")
        assert "✗" not in text
        await page.press("ctrl+x", "l")
        lines = (await page.sees("Type to filter")).splitlines()
        assert [one for one in lines if "■" in one and "interrupted" in one], lines


@pytest.mark.slow
async def test_the_end_of_one_first_press_leaves_another_one(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with screen(environ, folder) as page:
        ends: list[Callable[[], object]] = []
        start_timer = page.app.chat.set_timer

        def set_timer(delay: float, callback: Callable[[], object], *, name: str | None = None) -> Timer:
            if delay == ARMED_MS / 1000:
                ends.append(callback)
            return start_timer(delay, callback, name=name)

        monkeypatch.setattr(page.app.chat, "set_timer", set_timer)
        await page.send("<<words 200>> <<slow 30>>")
        await page.sees("word3")
        await page.press("escape")
        await page.sees("again to interrupt")
        await page.press("ctrl+d")
        await page.sees("again to quit")
        ends[0]()
        await page.pilot.pause(0.1)
        assert "again to quit" in page.text()
        ends[1]()
        await page.sees_no_more("again to quit")


@pytest.mark.slow
async def test_a_prompt_sent_while_it_works_is_queued_and_seen(environ: dict[str, str], folder: Path) -> None:
    it_waits = threading.Event()
    async with screen(environ, folder) as page:
        page.world.server.script(Answer(text="begun the-end", holds=(("the-end", it_waits),)))
        await page.send("first")
        await page.sees("begun")
        await page.send("and then this")
        await page.sees("queued")
        it_waits.set()
        await page.sees("Echo: and then this")


@pytest.mark.slow
async def test_a_line_with_an_exclamation_mark_runs_in_the_shell(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("!echo from-the-shell > out.txt")
        await page.sees("Shell")
        await page.sees("✓ Done")
        assert (folder / "out.txt").read_text() == "from-the-shell\n"


@pytest.mark.slow
async def test_an_unknown_command_stands_in_the_prompt_again(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("/nonsense here")
        await page.sees("Unknown command /nonsense")
        assert page.app.chat.prompt.editor.text == "/nonsense here"


@pytest.mark.slow
async def test_a_large_paste_is_a_marker_and_is_sent_whole(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        page.app.chat.prompt.editor.post_message(events.Paste("\n".join(f"row {n}" for n in range(120))))
        await page.sees("[Pasted 120 lines]")
        await page.press("enter")
        await page.sees("✓ Done")
        assert "row 119" in page.world.sent(0)


@pytest.mark.slow
async def test_backspace_takes_a_marker_away_as_a_whole(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        page.app.chat.prompt.editor.post_message(events.Paste("x" * 5000))
        await page.sees("[Pasted 5000 characters]")
        await page.press("backspace")
        assert page.app.chat.prompt.editor.text == ""


@pytest.mark.slow
async def test_up_brings_what_was_asked_before(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("first thing")
        await page.sees("✓ Done")
        await page.type("draft")
        await page.press("up")
        assert page.app.chat.prompt.editor.text == "first thing"
        await page.press("down")
        assert page.app.chat.prompt.editor.text == "draft"


@pytest.mark.slow
async def test_files_are_completed_behind_an_at(environ: dict[str, str], folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "parser.py").write_text("x")
    async with screen(environ, folder) as page:
        await page.type("look at @pars")
        await page.sees("src/parser.py")
        await page.press("tab")
        assert page.app.chat.prompt.editor.text == "look at @src/parser.py "


@pytest.mark.slow
async def test_the_list_of_files_covers_no_row_of_a_prompt_that_grew_or_came_back(
    environ: dict[str, str], folder: Path
) -> None:
    (folder / "parser.py").write_text("x")
    async with screen(environ, folder) as page:
        prompt = page.app.chat.prompt
        completions = page.app.chat.opened.completing.completions
        prompt.display = False
        prompt.editor.put("one\ntwo\nlook at @pars")
        while not completions.display:
            await page.pilot.pause(0.01)
        prompt.display = True
        await page.sees("look at @pars")
        await page.pilot.pause(0.3)  # the list moves once the prompt has its place
        assert prompt.region.y - 1 <= completions.region.bottom <= prompt.region.y


@pytest.mark.slow
@pytest.mark.parametrize("command", ["/sessions", "/timeline", "/models"])
async def test_a_key_that_closes_a_page_twice_closes_nothing_else(
    environ: dict[str, str], folder: Path, command: str
) -> None:
    async with screen(environ, folder) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        await page.send(command)
        while page.app.screen is page.app.chat:
            await page.pilot.pause(0.01)
        above = page.app.screen
        for _ in range(3):
            above.post_message(events.Key("escape", None))
        while above.is_attached:
            await page.pilot.pause(0.01)
        assert page.app.screen is page.app.chat


@pytest.mark.slow
async def test_a_command_is_completed_and_done(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.type("/mod")
        await page.sees("Choose a model")
        await page.press("enter")
        await page.sees("Filter models")


@pytest.mark.slow
async def test_letters_filter_the_commands_and_enter_does_one(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        await page.press("ctrl+p")
        await page.sees("What do you want to do?")
        await page.type("rename")
        await page.press("enter")
        await page.sees("Rename this session")
        await page.press("ctrl+a", "ctrl+k")
        await page.type("My own title")
        await page.press("enter")
        await page.sees("My own title")


@pytest.mark.slow
async def test_tab_goes_to_the_next_agent_and_plan_says_so(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("tab")
        await page.sees(" plan  fake/fake-model")
        await page.press("tab")
        await page.sees(" build  fake/fake-model")


@pytest.mark.slow
async def test_a_fork_goes_on_in_a_copy(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Base.")) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        source = page.session_id
        await page.press("ctrl+x", "f")
        await page.sees("Forked")
        assert page.session_id != source


@pytest.mark.slow
async def test_compacting_leaves_its_rule_in_the_chat(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        for number in range(3):
            await page.send(f"thing {number}")
            await page.sees(f"Echo: thing {number}")
            await page.sees("✓ Done")
        await page.press("ctrl+x", "c")
        await page.sees("≡ Compacted")


@pytest.mark.slow
async def test_deleting_asks_first(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        await page.send("/delete")
        await page.sees("Move this session to the trash?")
        assert len(await page.world.client.sessions.list()) == 1
        await page.answer("y")
        await page.sees("Moved to the trash")
        assert await page.world.client.sessions.list() == []


@pytest.mark.slow
async def test_export_writes_a_new_file_and_never_over_another(environ: dict[str, str], folder: Path) -> None:
    (folder / "taken.md").write_text("mine")
    async with screen(environ, folder, Answer(text="The answer.")) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        for name, words in (("taken.md", "already exists"), ("fresh.md", "Exported")):
            await page.press("ctrl+x", "x")
            await page.sees("Export this session as")
            await page.press("enter")
            await page.sees("Export as markdown")
            await page.press("ctrl+a", "ctrl+k")
            await page.type(name)
            await page.press("enter")
            await page.sees(words)
        assert (folder / "taken.md").read_text() == "mine"
        assert "The answer." in (folder / "fresh.md").read_text()


@pytest.mark.slow
async def test_the_last_session_is_gone_on_in(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Stored.")) as page:
        await page.send("hello")
        await page.sees("✓ Done")
    async with screen(environ, folder, options=StartOptions(folder, is_continued=True)) as page:
        await page.sees("Stored.")


@pytest.mark.slow
async def test_a_prompt_of_the_command_line_is_sent_at_once(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, options=StartOptions(folder, prompt="from outside")) as page:
        await page.sees("Echo: from outside")


@pytest.mark.slow
async def test_what_is_typed_before_the_engine_is_there_is_kept_and_sent(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, is_attached=False) as page:
        await page.type("typed early")
        await page.press("enter")
        page.app.attach(page.world.client)
        await page.sees("Echo: typed early")


@pytest.mark.slow
async def test_quitting_while_it_works_asks_and_ends_the_turn(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("<<words 200>> <<slow 30>>")
        await page.sees("word3")
        await page.press("ctrl+x", "q")
        await page.sees("Quit while the agent is running?")
        await page.answer("y")
        await page.ends()
        assert page.app.return_value is not None
        assert page.app.return_value.session_id is not None


@pytest.mark.slow
async def test_quitting_where_another_process_works_says_that_it_goes_on(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with screen(environ, folder) as page:
        monkeypatch.setattr(type(page.app.chat.opened.control.client), "ends_runs", property(lambda _: False))
        await page.send("<<words 200>> <<slow 30>>")
        await page.sees("word3")
        await page.press("ctrl+x", "q")
        await page.ends()
        assert page.app.return_value is not None
        assert page.app.return_value.messages == ("what runs goes on without this terminal",)


@pytest.mark.slow
async def test_work_whose_screen_ends_before_it_begins_is_closed(environ: dict[str, str], folder: Path) -> None:
    began: list[bool] = []

    async def begin() -> None:
        began.append(True)

    async with screen(environ, folder) as page:
        works = [begin(), begin()]
        canceled, kept = map(page.app.chat.opened.start, works)
        canceled.cancel()
        await kept.wait()
        del canceled, kept
        async with asyncio.timeout(PATIENCE_S):
            while inspect.getcoroutinestate(works[0]) != inspect.CORO_CLOSED:
                await asyncio.sleep(0.01)
                gc.collect()
    assert began == [True]


@pytest.mark.slow
async def test_quitting_while_a_background_command_runs_asks_and_ends_it(environ: dict[str, str], folder: Path) -> None:
    call = json.dumps({"command": "sleep 4011", "description": "waits", "background": True})
    async with screen(environ, folder) as page:
        await page.send(f"start <<tool bash {call}>>")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "q")
        await page.sees("Quit while background commands are running?")
        await page.sees("bg1  sleep 4011")
        await page.answer("escape")
        await page.sees_no_more("Quit while background commands are running?")
        assert page.app.return_value is None
        await page.press("ctrl+x", "q")
        await page.sees("end it and quit")
        await page.answer("y")
        await page.ends()
        assert page.app.return_value is not None


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["notify", False])
async def test_a_newer_version_is_reported_if_the_settings_ask_for_it(
    environ: dict[str, str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: object
) -> None:
    monkeypatch.setattr(start, "LOOK_FOR_VERSION_S", 0.0)
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "opencode_tui-98.0.0-py3-none-any.whl").touch()
    installed(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(packages)}
    async with screen(environ, folder, settings={"autoupdate": wanted}) as page:
        if wanted:
            await page.sees("Version 98.0.0 is available")
        else:
            await page.send("hello")
            await page.sees("Echo: hello")
            assert await page.world.client.settings.newer_version() == ""


@pytest.mark.slow
@pytest.mark.parametrize("is_opened", [True, False])
async def test_newer_models_are_listed_when_the_list_is_opened_or_some_time_after_the_start(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_opened: bool
) -> None:
    del environ["OPENCODE_DISABLE_MODELS_FETCH"]
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(start, "READ_MODELS_S", 3600.0 if is_opened else 0.0)
    environ["ANTHROPIC_API_KEY"] = "sk-ant-test"
    with list_server() as lists:
        async with screen(environ, folder, settings={"models": {"url": f"{lists.url}/api.json"}}) as page:
            if is_opened:
                assert lists.requests == []
            else:
                async with asyncio.timeout(PATIENCE_S):
                    while lists.answers != [200]:
                        await asyncio.sleep(0.02)
            await page.send("/models")
            await page.type("fable-9")
            await page.sees("claude-fable-9")
            assert lists.answers == [200]


@pytest.mark.slow
async def test_ctrl_c_clears_the_prompt_first_and_quits_with_a_second_press_only(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        await page.type("some words")
        await page.press("ctrl+c")
        assert page.app.chat.prompt.editor.text == ""
        await page.press("ctrl+c")
        await page.sees("again to quit")
        assert page.app.is_running
        await page.press("ctrl+c")
        await page.ends()


@pytest.mark.slow
async def test_the_context_view_lists_what_the_model_sees(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Hi.")) as page:
        await page.send("hello there")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "i")
        text = await page.sees("System prompt")
        assert "hello there" in text
        await page.press("escape")
        await page.sees("Ask anything")


@pytest.mark.slow
async def test_enter_on_an_item_of_the_context_shows_it_in_the_chat(environ: dict[str, str], folder: Path) -> None:
    long = Answer(text="\n\n".join(f"paragraph {n}" for n in range(60)))
    async with screen(environ, folder, long) as page:
        await page.send("where it began")
        await page.sees("paragraph 59")
        assert "▎ where it began" not in page.text()
        await page.press("ctrl+x", "i")
        await page.sees("System prompt")
        await page.press("end", "up", "enter")
        await page.sees("▎ where it began")
        assert "paragraph 59" not in await page.sees("Ask anything")


@pytest.mark.slow
async def test_the_diff_view_shows_what_the_session_changed(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(WRITE,)), Answer(text="Written.")) as page:
        await page.send("write it")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "d")
        await page.sees("file 1 of 1")
        await page.sees("# Hi")


@pytest.mark.slow
async def test_the_timeline_undoes_back_to_a_request(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(WRITE,)), Answer(text="Written."), size=(140, 36)) as page:
        await page.send("write it")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "g")
        await page.sees("Reverting to")
        await page.sees("deleted")
        await page.press("r")
        await page.sees("Undo from here?")


@pytest.mark.slow
async def test_an_error_of_the_provider_says_what_to_do(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("<<error 401 bad key>>")
        text = await page.sees("Stopped")
        assert "401" in text


@pytest.mark.slow
async def test_a_theme_is_worn_while_one_looks_and_taken_off_on_escape(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        before = page.app.look.palette.background
        await page.press("ctrl+x", "t")
        await page.sees("Filter themes")
        await page.type("gruvbox")
        assert page.app.look.palette.name == "gruvbox"
        await page.press("escape")
        assert page.app.look.palette.background == before


@pytest.mark.slow
async def test_keys_and_theme_of_the_settings_are_in_force(environ: dict[str, str], folder: Path) -> None:
    settings = {"keybinds": {"command_list": "ctrl+o"}, "theme": "nord"}
    async with screen(environ, folder, settings=settings) as page:
        await page.sees("ctrl+o commands")
        assert page.app.look.palette.name == "nord"
        await page.press("ctrl+o")
        await page.sees("What do you want to do?")


@pytest.mark.slow
async def test_the_agents_own_question_is_answered_by_number(environ: dict[str, str], folder: Path) -> None:
    asked = {
        "questions": [{"question": "Which way?", "header": "Way", "options": [{"label": "Left"}, {"label": "Right"}]}]
    }
    async with screen(environ, folder, Answer(calls=(Call("question", asked),)), Answer(text="So be it.")) as page:
        await page.send("ask me")
        await page.sees("Which way?")
        await page.answer("2")
        await page.sees("So be it.")
        assert any("Right" in json.dumps(body) for body in page.world.server.bodies)


@pytest.mark.slow
async def test_a_click_on_a_session_opens_it(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="One."), size=(140, 40)) as page:
        await page.send("first talk")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "n")
        await page.sees("Recent sessions")
        await click(page, "first talk", from_column=100)
        await page.sees("One.")


async def click(page: Page, words: str, *, from_column: int = 0) -> None:
    """Click where these words stand."""
    for y, line in enumerate(page.text().splitlines()):
        x = line.find(words, from_column)
        if x >= 0:
            await page.pilot.click(offset=(x, y))
            return
    raise AssertionError(f"{words!r} is not on the screen")


@pytest.mark.slow
async def test_the_settings_may_ask_for_plain_signs_that_stand_still(environ: dict[str, str], folder: Path) -> None:
    settings = {"tui": {"ascii": True, "reduced_motion": True}}
    async with screen(environ, folder, settings=settings) as page:
        await page.send("hello")
        text = await page.sees("v Done")
        assert "✓" not in text
        assert "▎" not in text
        assert page.app.look.is_still


@pytest.mark.slow
async def test_a_queued_prompt_can_be_taken_back_and_is_never_answered(environ: dict[str, str], folder: Path) -> None:
    it_is_back = threading.Event()
    async with screen(environ, folder) as page:
        page.world.server.script(Answer(text="begun the-end", holds=(("the-end", it_is_back),)))
        await page.send("first")
        await page.sees("begun")
        await page.send("second thoughts")
        await page.sees("queued")
        await page.press("ctrl+x", "k")
        await page.sees_no_more("queued")
        assert page.app.chat.prompt.editor.text == "second thoughts"
        it_is_back.set()
        await page.sees("\u2713 Done")
        assert "Echo: second thoughts" not in page.text()
        sent = json.dumps(page.world.server.bodies)
        assert "second thoughts" not in sent


@pytest.mark.slow
async def test_what_the_agent_has_read_is_not_taken_back(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("hello")
        await page.sees("\u2713 Done")
        await page.press("ctrl+x", "k")
        await page.sees("Nothing is queued")
        (first, _) = await page.world.client.messages.list(page.session_id or "")
        assert not await page.world.client.prompts.withdraw(first.info.session_id, first.info.id)


@pytest.mark.slow
async def test_a_quit_by_mouse_asks_no_second_time(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("ctrl+c")
        await page.sees("again to quit")
        page.app.chat.opened.end_first_press()  # the five seconds are over
        page.app.chat.post_message(Pressed("app_exit"))
        await page.ends()


@pytest.mark.slow
async def test_a_search_that_another_replaces_leaves_nothing_behind(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                await page.app.chat.prompt.on_text_area_changed()
            await page.pilot.pause()
            gc.collect()
        assert not [str(one.message) for one in caught]


@pytest.mark.slow
async def test_the_share_of_the_context_is_of_what_the_context_view_says(environ: dict[str, str], folder: Path) -> None:
    narrow = {**environ, "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX": "1000"}
    async with screen(narrow, folder) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        control = page.app.chat.opened.control
        assert control.session_id is not None
        view = await page.world.client.context.items(control.session_id)
        assert (control.choice.limit, view.usable) == (199_000, 199_000)


@pytest.mark.slow
async def test_a_turn_costs_the_same_after_the_compaction_is_read_anew(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        for number in range(3):
            await page.send(f"thing {number}")
            await page.sees(f"Echo: thing {number}")
            await page.sees("✓ Done")
        await page.press("ctrl+x", "c")
        await page.sees(" → ")
        told = await page.sees("✓ Compacted")
        rows = [line for line in told.split("\n") if "thing 2" in line]
        control = page.app.chat.opened.control
        await control.reload()
        await page.pilot.pause(0.3)
        assert [line for line in page.text().split("\n") if "thing 2" in line] == rows
        assert "tokens" not in next(line for line in told.split("\n") if "✓ Compacted" in line)


@pytest.mark.slow
async def test_the_remedy_of_a_long_warning_is_read(environ: dict[str, str], folder: Path) -> None:
    long = {"server": {"a_key_that_is_long_and_that_nobody_has_ever_heard_of_before": 1}}
    async with screen(environ, folder, settings=long, size=(80, 30)) as page:
        text = " ".join((await page.sees("unknown key")).split())
        assert "unknown key (ignored)" in text
        page.app.chat.show_note(
            "failed", f"cannot write {folder}{'/long' * 20}: it is read-only; set XDG_DATA_HOME to another"
        )
        await page.sees(": it is read-only; set XDG_DATA_HOME to another")


@pytest.mark.slow
async def test_the_persons_own_command_shows_its_output(environ: dict[str, str], folder: Path) -> None:
    (folder / "seen.txt").write_text("x")
    async with screen(environ, folder) as page:
        await page.send("!ls")
        await page.sees("│ seen.txt")
        await page.sees("✓ Done")
        await page.send("!seq 40")
        await page.sees("│ 40")
        text = await page.sees("28 lines more")
        assert "│ 29" in text and "│ 28\n" not in text
        await page.send('<<tool bash {"command":"seq 50 60","description":"x"}>>')
        await page.sees("✓ Done")
        assert "│ 60" not in page.text()


@pytest.mark.slow
async def test_a_key_is_named_only_where_it_acts(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("!seq 40")
        await page.sees("28 lines more   ctrl+up, enter open")
        await page.press("ctrl+up")
        await page.sees("28 lines more   enter open")
        await page.press("enter")
        await page.sees("│ 28")


@pytest.mark.slow
async def test_the_prompt_says_that_a_plan_edits_nothing(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("tab")
        await page.sees("Plan mode: read-only")
        await page.press("tab")
        await page.sees("Ask anything")


@pytest.mark.slow
async def test_nothing_of_a_longer_session_stays_below_a_shorter_one(environ: dict[str, str], folder: Path) -> None:
    long = Answer(text="\n\n".join(f"paragraph {n}" for n in range(8)))
    async with screen(environ, folder, long, Answer(text="A title."), Answer(text="Short.")) as page:
        await page.send("first")
        await page.sees("✓ Done")
        first = page.session_id
        await page.press("ctrl+x", "n")
        await page.sees("Recent sessions")
        await page.send("second")
        await page.sees("✓ Done")
        second = page.session_id
        assert first is not None and second is not None
        open_session(page.app.chat.opened, first)
        await page.sees("paragraph 7")
        open_session(page.app.chat.opened, second)
        await page.sees("▎ second")
        assert "paragraph" not in page.text()


@pytest.mark.slow
async def test_what_cannot_be_known_before_it_runs_is_said_once(environ: dict[str, str], folder: Path) -> None:
    call = Call("bash", {"command": "python3 -c 1", "description": "x"})
    settings = {"experimental": {"sandbox": {"mode": "off"}}}
    async with screen(environ, folder, Answer(calls=(call,)), settings=settings) as page:
        await page.send("go")
        text = " ".join((await page.sees("run once")).replace("▎", "").split())
        assert text.count("arbitrary code") == 1
        assert "needs your approval. No sandbox: experimental.sandbox.mode is off. Working directory" in text
        assert "□ no sandbox" in text


@pytest.mark.slow
async def test_requests_that_are_sent_in_one_breath_are_all_answered(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("begin")
        await page.sees("✓ Done")
        for text in ("one", "two", "three"):
            page.app.chat.prompt.editor.put(text)
            page.app.chat.opened.run("input_submit")
        text = await page.sees("▎ three")
        for _ in range(100):
            if all(word in json.dumps(page.world.server.bodies) for word in ("one", "two", "three")):
                break
            await page.pilot.pause(0.05)
        else:
            raise AssertionError("a request was not sent to the model")
        assert text.index("▎ one") < text.index("▎ two") < text.index("▎ three") and "✗" not in text
