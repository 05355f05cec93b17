"""Lists over the screen: they take the keys from the one that opens them on, and are filled while they are open."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from opencode_tui.schema.model import Cost, Limit, Model
from opencode_tui.tui.actions.lists import command_choices, model_choices
from opencode_tui.tui.dialogs.overlay import ListContent, Listing
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.state.model_selection import ModelSelection
from tests.support.terminal.screen import screen
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client
from tests.support.world.waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def _keys_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key waits for the completions of the letters before it as long as a slow machine takes to find them."""
    for module in ("completing", "editor"):
        monkeypatch.setattr(f"opencode_tui.tui.prompt.{module}.WRITTEN_S", PATIENCE_S)


@pytest.mark.fast_cases("keys0-enter run")
@pytest.mark.parametrize(("keys", "enter"), [(("ctrl+p",), "enter run"), (("ctrl+x", "m"), "enter use")])
async def test_letters_typed_behind_the_key_of_a_list_are_its_filter(
    environ: dict[str, str], folder: Path, keys: tuple[str, ...], enter: str
) -> None:
    async with screen(environ, folder) as page:
        page.press_at_once(*keys, *"fake")
        await page.sees("▎  fake")
        assert enter in page.text()
        assert page.app.chat.prompt.editor.text == ""


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "seen"), [((), "OpenRouter"), (("enter",), "API key for openrouter")])
async def test_letters_typed_behind_login_filter_the_providers_that_are_read_meanwhile(
    environ: dict[str, str], folder: Path, keys: tuple[str, ...], seen: str
) -> None:
    async with screen(environ, folder) as page:
        page.press_at_once(*"/login", "enter", *"openr", *keys)
        await page.sees(seen)
        assert page.app.chat.prompt.editor.text == ""


@pytest.mark.slow
async def test_the_users_commands_join_the_open_list(environ: dict[str, str], folder: Path) -> None:
    commands = folder / ".opencode" / "commands"
    commands.mkdir(parents=True)
    (commands / "deploy.md").write_text("---\ndescription: ship it\n---\nDeploy.\n")
    async with screen(environ, folder) as page:
        page.press_at_once("ctrl+p", *"depl")
        await page.sees("/deploy")
        await page.press("enter")
        await page.sees("▎ /deploy")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "shown", "closing"),
    [
        ("models", "Filter models", "escape"),
        ("models", "Filter models", "ctrl+c"),
        ("rename", "esc back", "escape"),
        ("find", "esc close", "escape"),
    ],
    ids=["list", "list-ctrl+c", "rename", "find"],
)
async def test_letters_directly_behind_the_end_of_a_list_or_a_text_field_are_for_the_prompt(
    environ: dict[str, str], folder: Path, command: str, shown: str, closing: str
) -> None:
    async with screen(environ, folder) as page:
        await page.send("hello")
        await page.sees("✓ Done")
        await page.send(f"/{command}")
        await page.sees(shown)
        page.press_at_once("f", "x", "backspace", closing, *"hey")
        await page.sees("▎ hey")
        assert page.app.chat.prompt.editor.text == "hey"


async def test_enter_directly_behind_letters_of_a_slash_command_chooses_from_its_list(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        for _ in range(2):
            page.press_at_once(*"/the", "enter")
            await page.sees("dracula")
            assert page.app.chat.prompt.editor.text == ""
            await page.press("escape")
            await page.sees_no_more("dracula")
        assert await page.world.client.sessions.list() == []


async def test_enter_directly_behind_the_begun_name_of_a_file_completes_it_and_behind_a_whole_one_sends_it(
    environ: dict[str, str], folder: Path
) -> None:
    (folder / "parser.py").write_text("x = 1\n")
    async with screen(environ, folder) as page:
        page.press_at_once(*"@pars", "enter")
        await page.sees("▎ @parser.py")
        assert page.app.chat.prompt.editor.text == "@parser.py "
        await page.press("backspace")
        page.press_at_once(*" @parser.py", "enter")
        await page.sees("✓ Done")
        assert page.app.chat.prompt.editor.text == ""


@pytest.mark.slow
async def test_escape_directly_behind_letters_of_a_slash_command_closes_its_list(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        completing = page.app.chat.opened.completing
        page.press_at_once(*"/the", "escape")
        await page.sees("▎ /the")
        await page._settle()
        assert page.app.chat.prompt.editor.text == "/the" and not completing.is_shown
        await page.press("m", "backspace", "enter")  # another text was typed
        await page.sees("dracula")


@pytest.mark.slow
async def test_a_choice_behind_letters_in_one_burst_is_that_of_the_filter(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        await page.send("/themes")
        await page.sees("dracula")
        page.press_at_once(*"drac", "enter")
        await page.sees_no_more("choose")
        while page.app.look.palette.name != "dracula":
            await page.pilot.pause(0.01)
        await page.sees("theme dracula")
    settings = Path(environ["XDG_CONFIG_HOME"], "opencode-tui", "opencode.jsonc")
    assert json.loads(settings.read_text())["theme"] == "dracula"
    async with screen(environ, folder) as page:
        assert page.app.look.palette.name == "dracula"


@pytest.mark.slow
async def test_a_theme_that_cannot_be_stored_is_said_and_used(environ: dict[str, str], folder: Path) -> None:
    settings = Path(environ["XDG_CONFIG_HOME"], "opencode-tui", "opencode.jsonc")
    async with screen(environ, folder) as page:
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("{ broken")
        await page.send("/themes drac")
        await page.press("enter")
        await page.sees("Not saved")
        assert page.app.look.palette.name == "dracula" and settings.read_text() == "{ broken"


@pytest.mark.slow
async def test_the_list_of_commands_grows_with_the_window_and_counts_what_it_hides(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, size=(100, 45)) as page:
        await page.type("/")
        shown = await page.sees("1 of ")
        assert len(re.findall(r"^ .{1,3}/\w+ ", shown, re.MULTILINE)) == 15
        await page.press("down")
        await page.sees("2 of ")
        await page.type("cl")
        assert "New session" in await page.sees("/clear")
        await page.press("enter")
        await page.sees_no_more("/clear")


def test_the_list_of_models_has_the_current_one_first_folds_dated_doubles_and_says_why_there_is_no_price():
    def known(name: str, price: str = "0") -> Model:
        cost = Cost(input=Decimal(price), output=Decimal(price), is_known=price != "0")
        return Model(provider_id="p", model_id=name, name=name, adapter="openai", api_id=name, limit=Limit(), cost=cost)

    choice = ModelSelection(as_client(ScriptedClient(Script())))
    choice.models = [known("b", "2"), known("a"), known("a-20251101"), known("c-2025-04-14", "1"), known("z")]
    choice.use(choice.models[-1].ref)
    shown = [(one.id, one.note, one.is_current) for one in model_choices(choice) if not one.is_folded]
    assert shown == [
        ("p/z", "no price known", True),
        ("p/a", "no price known", False),
        ("p/b", "$2 in, $2 out", False),
        ("p/c-2025-04-14", "$1 in, $1 out", False),
    ]
    listed = Listing(ListContent(model_choices(choice)))
    assert not listed.query_text
    assert [one.id for one in listed.content.choices if one.is_folded] == ["p/a-20251101"]
    listed.type("a-2")
    assert listed.chosen == "p/a-20251101"


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("delete", "session_delete"), ("restore", "session_restore"), ("undo", "messages_undo"), ("cost", "cost_view")],
)
def test_the_name_of_a_command_chooses_it_before_names_that_hold_the_word(typed: str, chosen: str) -> None:
    listed = Listing(ListContent(command_choices(Keymap({}), lambda _: True, ())))
    listed.type(typed)
    assert listed.chosen == chosen
