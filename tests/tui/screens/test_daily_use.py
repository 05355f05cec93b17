"""What a user does all day: send, recall, run a command, look at what it did, put sessions in order."""

import time
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


ASKS = {"permission": {"bash": "ask"}}
TOUCH = Call("bash", {"command": "touch made", "description": "x"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in."""
    work = tmp_path / "work"
    work.mkdir()
    return work


async def test_a_sent_message_and_its_answer_are_visible_also_after_scrolling_up(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="\n\n".join(f"row {n}" for n in range(80)))) as page:
        await page.send("a long one")
        await page.sees("✓ Done")
        await page.press("pageup", "pageup")
        assert "row 79" not in page.text()
        await page.send("what now")
        await page.sees("Echo: what now")


async def test_a_command_of_the_user_replaces_a_built_in_one_of_its_name(environ: dict[str, str], folder: Path) -> None:
    settings = {
        "command": {
            "status": {"description": "of the release", "template": "status of $ARGUMENTS"},
            "docs/api": {"template": "describe $ARGUMENTS"},
        }
    }
    async with screen(environ, folder, settings=settings) as page:
        await page.type("/stat")
        shown = await page.sees("of the release")
        assert len([row for row in shown.splitlines() if "/status" in row]) == 1
        await page.type("us 1.2")
        await page.press("enter")
        await page.sees("Echo: status of 1.2")
        await page.send("/docs/api parser")
        await page.sees("Echo: describe parser")
        await page.send("/usr/bin is missing")
        await page.sees("Echo: /usr/bin is missing")


async def test_a_skill_does_not_replace_a_built_in_command(environ: dict[str, str], folder: Path) -> None:
    skill = Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "skills" / "status" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: status\ndescription: of the release\n---\nRead it.")
    async with screen(environ, folder) as page:
        names = [one.name for one in await page.world.client.catalog.commands()]
        assert "status" in names
        await page.send("/status")
        await page.sees_no_more("/status")
        assert page.world.server.requests == []


async def test_up_goes_on_past_an_earlier_slash_command(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("first words")
        await page.sees("Echo: first words")
        await page.send("/thinking")
        await page.press("up")
        assert page.app.chat.prompt.editor.text == "/thinking"
        await page.pilot.pause(0.1)
        await page.press("up")
        assert page.app.chat.prompt.editor.text == "first words"
        await page.press("down", "x")
        assert page.app.chat.prompt.editor.text == "/thinkingx"


async def test_the_users_own_command_shows_its_kind_and_its_exit_code(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Hi.", usage=(1000, 900, 0))) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        row = next(line for line in (await page.sees(" · $")).splitlines() if line.startswith(" ▎ hello"))
        assert "$" in row
        await page.type("!")
        await page.sees("shell command  runs at once, without the model")
        await page.type("ls gone; exit 2")
        await page.press("enter")
        await page.sees("✗ Exit 2")
        await page.sees_no_more("shell command")
        await page.sees_no_more("✓ Done")
        shown = await page.sees("Shell")
        assert row in shown.splitlines()


async def test_a_rejected_call_is_no_failure_and_its_time_is_not_that_of_the_question(
    environ: dict[str, str], folder: Path
) -> None:
    calls = (Call("bash", {"command": "true", "description": "x"}),)
    async with screen(environ, folder, Answer(calls=calls), Answer(text="Fine."), settings=ASKS) as page:
        began = time.monotonic()
        await page.send("go")
        await page.sees("run once")
        question_s = 1.2
        await page.pilot.pause(question_s)
        await page.answer("y")
        await page.sees("✓ Done")
        took = time.monotonic() - began - question_s
        line = next(line for line in (await page.sees("✓ Bash")).splitlines() if "Bash" in line)
        # On a busy machine the command takes a time that is shown; the second of the question is never a part of it.
        match line.split():
            case ["✓", "Bash", "true"]:
                pass
            case ["✓", "Bash", "true", seconds, "s"]:
                assert float(seconds) <= took + 0.1
            case other:
                pytest.fail(f"the line says {other}")


async def test_a_long_command_can_be_read_whole_after_it_ran(environ: dict[str, str], folder: Path) -> None:
    command = "true " + " ".join(f"word{number}" for number in range(40))
    async with screen(environ, folder, Answer(calls=(Call("bash", {"command": command, "description": "x"}),))) as page:
        await page.send("go")
        await page.sees("✓ Done")
        assert "word39" not in await page.sees("Done: go")
        page.app.set_focus(page.app.chat.opened.view)
        await page.pilot.pause()
        await page.press("k")
        await page.press("enter")
        await page.sees("word39")


async def test_an_error_goes_when_the_next_prompt_is_begun(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("/nonsense")
        await page.sees("Unknown command /nonsense")
        await page.press("ctrl+c")
        await page.type("n")
        await page.sees_no_more("Unknown command")


async def test_another_key_ends_a_first_press(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("ctrl+c")
        await page.sees("again to quit")
        await page.type("hello")
        await page.sees_no_more("again to quit")
        await page.press("ctrl+c", "ctrl+c")
        assert page.app.is_running
        await page.press("ctrl+d")
        await page.sees("ctrl+d again to quit")
        await page.press("ctrl+d")
        await page.ends()


async def test_ctrl_c_twice_interrupts_a_run(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("<<words 200>> <<slow 30>>")
        await page.sees("word3")
        await page.press("ctrl+c")
        await page.sees("ctrl+c again to interrupt")
        await page.press("ctrl+c")
        await page.sees("Interrupted by you")
        assert page.app.is_running


async def test_the_first_key_that_quits_interrupts_a_run_whatever_key_it_is(
    environ: dict[str, str], folder: Path
) -> None:
    keys = {"app_exit": "<leader>f2,f4,ctrl+d", "messages_copy": "ctrl+c", "input_clear": "ctrl+l"}
    async with screen(environ, folder, settings={"keybinds": keys}) as page:
        assert not [one for one in (await page.world.client.settings.notices()).warnings if "keybinds" in one]
        await page.send("<<words 200>> <<slow 30>>")
        await page.sees("word3")
        await page.press("f4")
        await page.sees("f4 again to interrupt")
        await page.press("f4")
        await page.sees("Interrupted by you")
        await page.press("ctrl+c")
        await page.sees("Copied")
        assert page.app.is_running
        await page.press("ctrl+d")
        await page.sees("ctrl+d again to quit")
        await page.press("f4")
        await page.ends()


async def test_a_sequence_that_quits_asks_while_a_run_goes_on(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, settings={"keybinds": {"app_exit": "<leader>q"}}) as page:
        await page.send("<<words 200>> <<slow 30>>")
        await page.sees("word3")
        await page.press("ctrl+x", "q")
        await page.sees("Quit while the agent is running?")
        await page.answer("escape")
        await page.sees_no_more("Quit while the agent is running?")
        assert page.app.is_running


async def test_sessions_are_renamed_and_deleted_one_after_another(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        for title in ("alpha", "beta", "gamma"):
            await page.send(f"name {title}")
            await page.sees(f"Echo: name {title}")
            await page.sees("✓ Done")
            await page.press("ctrl+x", "n")
        await page.press("ctrl+x", "l")
        await page.sees("3 sessions")
        await page.press("ctrl+r")
        await page.sees("Rename this session")
        await page.press("escape")
        await page.sees("3 sessions")
        for left in ("2 sessions", "1 session"):
            await page.press("ctrl+d")
            await page.sees("Move this session to the trash?")
            await page.answer("y")
            await page.sees(left)
        assert page.app.is_running


async def test_changes_are_shown_while_the_turn_runs(environ: dict[str, str], folder: Path) -> None:
    write = Call("write", {"filePath": "notes.md", "content": "# Hi\n"})
    slow = Answer(text="word " * 400, delay_ms=50)
    async with screen(environ, folder, Answer(calls=(write,)), slow, size=(150, 40)) as page:
        await page.send("write it")
        await page.sees("word word")
        shown = await page.sees("Changes")
        assert "A notes.md" in shown and "✓ Done" not in shown


async def test_a_waiting_session_is_shown_also_without_the_sidebar(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(calls=(TOUCH,)), settings=ASKS, size=(100, 30)) as page:
        await page.send("make it")
        await page.sees("run once")
        await page.press("ctrl+x", "n")
        await page.sees("! 1 needs you")


async def test_words_after_a_commands_name_are_used_or_put_back(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        await page.send("/rename a better name")
        await page.sees("a better name")
        await page.send("/export out.md")
        await page.sees("Exported")
        assert "hello" in (folder / "out.md").read_text()
        await page.send("/model scripted")
        await page.sees("ctrl+f favorite")
        assert page.app.screen.listing.query_text == "scripted"  # pyright: ignore[reportAttributeAccessIssue] - the overlay
        await page.press("escape")
        await page.send("/model demo/tour")
        await page.sees("demo/tour")
        await page.send("/stash these words")
        await page.sees("/stash takes no arguments")
        assert page.app.chat.prompt.editor.text == "/stash these words"


async def test_the_focus_of_a_compaction_is_sent(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        await page.send("/compact the parser")
        await page.sees("Compacted")
        assert "focus on: the parser" in str(page.world.server.bodies)


async def test_files_come_before_agents_and_keep_their_lines(environ: dict[str, str], folder: Path) -> None:
    (folder / "README.md").write_text("x")
    async with screen(environ, folder) as page:
        await page.type("@")
        shown = await page.sees("README.md")
        assert shown.count("README.md") == 1
        await page.type("R")
        lines = (await page.sees("@R")).splitlines()
        assert next(line for line in lines if "README.md" in line or "explore" in line).strip("▎ ").startswith("README")
        await page.press("tab")
        await page.pilot.press("number_sign")
        await page.type("L3")
        assert page.app.chat.prompt.editor.text == "@README.md#L3"


async def test_the_path_of_an_image_is_attached_and_any_other_stays_text(environ: dict[str, str], folder: Path) -> None:
    (folder / "a pic.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    async with screen(environ, folder) as page:
        page.app.chat.prompt.paste(f"'{folder}/a pic.png'")
        await page.sees("[Image 1]")
        page.app.chat.prompt.paste("/nowhere/b.png")
        await page.sees("[Image 1]/nowhere/b.png")


async def test_an_unknown_model_of_the_settings_is_named_at_the_start(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, settings={"model": "fake/fake-modle"}) as page:
        await page.sees("fake/fake-modle")


async def test_a_command_of_the_user_is_a_turn_in_the_timeline_as_in_an_undo(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, size=(140, 40)) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        await page.send("!echo one")
        shown = await page.sees("Shell")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "g")
        shown = await page.sees("2 turns")
        assert "! echo one" in shown
        await page.press("up")
        await page.sees("Removes 2 turns")


async def test_the_context_page_has_names_at_any_width(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(60, 30)) as page:
        await page.send("a request with a long name")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "i")
        shown = await page.sees("a request with a long name")
        assert "System prompt" in shown and "for open-weight models" in shown
        assert "Cached prefix unchanged since" in shown
        legend = next(line for line in shown.splitlines() if "free" in line)
        assert "messages" in legend and "system" in legend
        await page.resize(120, 30)
        shown = await page.sees("share")
        bar = next(line for line in shown.splitlines() if "····" in line)
        assert len(bar) > 110
