"""Comforts of the chat: keys after the leader, earlier prompts, rules, keys of providers, facts, the window title."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.keybinds import BY_ID
from opencode_tui.storage.paths import find_paths
from opencode_tui.tui.chrome.welcome import tips
from opencode_tui.tui.keys.keymap import Keymap
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen, screen_lines

pytestmark = pytest.mark.slow


async def test_the_keys_after_the_leader_are_listed_after_a_moment(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("ctrl+x")
        text = await page.sees("Session picker")
        assert "New session" in text and "Choose a model" in text
        await page.press("l")
        await page.sees("Type to filter by title")
        await page.press("escape")
        await page.sees_no_more("Session picker")


async def test_the_keys_after_the_leader_are_not_listed_once_the_second_key_has_come(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        listed = page.app.chat.opened.leader_keys
        listed.show_soon(lambda: [("l", BY_ID["session_list"])])
        listed.show_soon(None)
        listed._show_waited(lambda: [("l", BY_ID["session_list"])])  # as a busy loop calls it after the stop
        assert not listed.display


async def test_an_earlier_prompt_is_found_by_its_characters(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="one"), Answer(text="two")) as page:
        await page.send("write the parser")
        await page.sees("one")
        await page.send("run the tests")
        await page.sees("two")
        page.app.chat.prompt.editor.put("half a thought")
        await page.press("ctrl+r")
        await page.sees("Search earlier prompts")
        await page.type("pars")
        await page.sees("1 of 2")
        await page.press("enter")
        await page.sees_no_more("1 of 2")
        assert page.app.chat.prompt.editor.text == "write the parser"
        await page.press("up")
        assert page.app.chat.prompt.editor.text == "half a thought"


async def test_a_backslash_before_enter_is_a_new_line(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        page.app.chat.prompt.editor.put("first\\")
        await page.press("enter")
        await page.type("second")
        assert page.app.chat.prompt.editor.text == "first\nsecond"
        assert page.session_id is None


async def test_a_rule_is_added_to_the_instructions_after_a_preview(environ: dict[str, str], folder: Path) -> None:
    (folder / "AGENTS.md").write_text("# Rules\n- no tabs")
    async with screen(environ, folder) as page:
        await page.send("# run the tests with pytest -q")
        text = await page.sees("Keep this rule?")
        assert "- no tabs" in text and "+ - run the tests with pytest -q" in text
        await page.answer("escape")
        await page.sees_no_more("Keep this rule?")
        assert page.app.chat.prompt.editor.text == "# run the tests with pytest -q"
        assert (folder / "AGENTS.md").read_text() == "# Rules\n- no tabs"
        await page.press("enter")
        await page.sees("Keep this rule?")
        await page.answer("y")
        await page.sees("Rule added")
        assert (folder / "AGENTS.md").read_text() == "# Rules\n- no tabs\n- run the tests with pytest -q\n"
        assert page.session_id is None


@pytest.mark.parametrize(("first", "second"), [("y", "y"), ("y", "g"), ("y", "escape")])
async def test_keys_that_come_at_once_confirm_once(
    environ: dict[str, str], folder: Path, first: str, second: str
) -> None:
    async with screen(environ, folder) as page:
        await page.send("# use tabs")
        await page.sees("Keep this rule?")
        await page.answer()
        page._deliver(first)
        await page.press(second)
        await page.sees("Rule added")
        await page.sees_no_more("Keep this rule?")
    paths = find_paths(environ)
    written = [path.read_text() for path in (folder / "AGENTS.md", paths.config / "AGENTS.md") if path.exists()]
    assert [text.count("use tabs") for text in written] == [1]


async def test_a_rule_is_not_written_through_a_link(environ: dict[str, str], folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (folder / "AGENTS.md").symlink_to(target)
    async with screen(environ, folder) as page:
        await page.send("# x")
        await page.sees("Keep this rule?")
        await page.answer("y")
        await page.sees("is a link")
        assert target.read_text() == "mine"


@pytest.mark.parametrize("text", ["# Task\n\nfix it", "#42 is broken", " # a title", "## Title"])
async def test_other_texts_with_a_sign_are_sent(environ: dict[str, str], folder: Path, text: str) -> None:
    async with screen(environ, folder, Answer(text="read")) as page:
        await page.send(text)
        await page.sees("read")


async def test_a_key_is_typed_unseen_and_used_at_once(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("openrouter")
        await page.press("enter")
        await page.sees("API key for")
        await page.type("sk-secret")
        text = await page.sees("•••••••••")
        assert "sk-secret" not in text
        await page.press("enter")
        await page.sees("Saved the API key for openrouter")
        ready = await page.world.client.catalog.providers(only_ready=True)
        assert "openrouter" in [one.id for one in ready]
        assert "sk-secret" not in "".join(page.app.chat.prompt.history.entries)


async def test_a_login_says_which_setting_comes_before_the_stored_key(environ: dict[str, str], folder: Path) -> None:
    own = folder.parent / "own.json"
    own.write_text('{"provider": {"groq": {"options": {"apiKey": "sk-of-the-settings"}}}}')
    async with screen({**environ, "OPENCODE_CONFIG": str(own)}, folder, size=(200, 30)) as page:
        await page.send("/login")
        await page.sees("Connect a provider")
        await page.type("groq")
        await page.press("enter")
        await page.sees("API key for")
        await page.type("sk-secret")
        await page.press("enter")
        text = await page.sees("Saved, but not used")
        assert "provider.groq.options.apiKey is used instead of the stored key" in text


async def test_cost_permissions_and_settings_are_pages(environ: dict[str, str], folder: Path) -> None:
    settings = {"permission": {"bash": {"git push *": "ask"}}}
    async with screen(environ, folder, Answer(text="hello"), settings=settings) as page:
        await page.send("/cost")
        await page.sees("No session yet")
        await page.send("hi")
        await page.sees("hello")
        await page.send("/cost")
        assert "with subagents" in await page.sees("fake/fake-model")
        await page.press("escape")
        await page.press("ctrl+x", "n")
        await page.send("/usage")
        await page.sees("1 session of this project cost $")
        await page.press("escape")
        await page.send("/permissions")
        assert "git push *" in await page.sees("Rules of settings, agent build (last match wins)")
        await page.press("escape")
        await page.send("/config apikey")
        assert "[hidden]" in await page.sees("provider.fake.options.apiKey")


async def test_the_check_of_the_installation_is_a_page(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("/doctor")
        text = await page.sees("esc back")
        assert "git" in text and "Doctor" in text


async def test_escape_twice_on_an_empty_prompt_opens_the_timeline(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="hello")) as page:
        await page.press("escape", "escape")
        assert "Timeline" not in page.text()
        await page.send("hi")
        await page.sees("Done")
        page.app.chat.prompt.editor.put("typed")
        await page.press("escape", "escape")
        page.app.chat.prompt.clear()
        assert "Timeline" not in page.text()
        await page.press("escape")
        await page.sees("again to rewind")
        await page.press("escape")
        await page.sees("Timeline")


async def test_a_favorite_model_is_listed_first_also_later(environ: dict[str, str], folder: Path) -> None:
    for is_later in (False, True):
        async with screen(environ, folder) as page:
            await page.press("ctrl+x", "m")
            text = await page.sees("ctrl+f favorite")
            assert "$1 in, $2 out" in text
            if not is_later:
                assert "Favorites" not in text
                await page.type("scripted")
                await page.press("ctrl+f")
            await page.sees("Favorites")
            await page.press("escape")


async def test_a_provider_is_connected_from_the_list_of_models(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("ctrl+x", "m")
        await page.sees("ctrl+a connect a provider")
        await page.press("ctrl+a")
        await page.sees("enter connect")


async def test_the_theme_of_the_terminal_has_no_background(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        before = page.app.look.palette
        page.app.apply_theme("system")
        await page.pilot.pause()
        assert page.app.look.palette.background == "" and page.app.look.palette.name == "system"
        lines = screen_lines(page.app)
        colors = {segment.style.bgcolor for line in lines for segment in line if segment.style is not None}
        assert colors and all(color is None or color.is_default for color in colors)
        page.app.apply_theme(before.name)
        assert page.app.look.palette == before
        page.app.apply_theme("light")
        assert not page.app.look.palette.dark


async def test_an_empty_chat_has_a_tip_unless_the_settings_say_no(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.sees("Type a request")
        assert any(line.text.strip().startswith("Tip  ") for line in screen_lines(page.app))
    async with screen(environ, folder, settings={"tui": {"tips": False}}) as page:
        await page.sees("Type a request")
        assert not any(line.text.strip().startswith("Tip  ") for line in screen_lines(page.app))


def test_each_tip_names_an_action_that_there_is_and_fits_a_line() -> None:
    keys = Keymap()
    assert [one for one, _ in tips() if one and not keys.first(one)] == []
    assert max(len(f"Tip  {keys.first(one) if one else ''} {words}") for one, words in tips()) <= 72
