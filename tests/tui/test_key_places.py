"""Keys are handled in one place, and every action of a page, panel or list is run there."""

import re
from pathlib import Path

import pytest

import opencode_tui.tui
from opencode_tui.schema.api.keybinds import ACTIONS, MAIN_SCOPES, Action
from opencode_tui.tui.keys.keymap import Keymap
from tests.support.rows import each

TUI = Path(opencode_tui.tui.__file__).parent
SOURCES = {path.relative_to(TUI).as_posix(): path.read_text("utf-8") for path in TUI.rglob("*.py")}
SCOPED = [action for action in ACTIONS if action.scope not in {*MAIN_SCOPES, "item"}]


def test_only_the_router_and_the_prompts_editor_handle_keys() -> None:
    handlers = re.compile(r"def _?on_key\b|\bBINDINGS\b")
    places = sorted(name for name, text in SOURCES.items() if handlers.search(text))
    assert places == ["keys/keyed.py", "prompt/editor.py"]


def test_no_module_compares_a_key_with_an_action_of_a_page() -> None:
    """`escape` and its like are names of keys only in the table, and where a key has no action to be set."""
    spelled = re.compile(r"event\.key (?:==|in) ")
    places = sorted(name for name, text in SOURCES.items() if spelled.search(text))
    assert places == ["dialogs/question.py", "dialogs/text_panel.py"]


@pytest.mark.slow
@each("action", SCOPED, ids=lambda action: action.id)
def test_an_action_of_a_page_panel_or_list_is_run_somewhere(action: Action) -> None:
    prefix, _, name = action.id.partition("_")
    moves = {"up", "down", "previous", "next", "first", "last"}
    is_move = name in moves and any(f'moves("{prefix}"' in text for text in SOURCES.values())
    assert is_move or any(re.search(rf"[\"`]{action.id}[\"`]", text) for text in SOURCES.values())


@pytest.mark.slow
@each("action", SCOPED, ids=lambda action: action.id)
def test_the_settings_move_an_action_of_a_page_panel_or_list(action: Action) -> None:
    keymap = Keymap({action.id: "f9"})
    assert keymap.keys(action.id) == ["f9"]
    assert action in keymap.actions("f9", [action.scope])
    defaults = Keymap()
    moved = [key for key in action.keys.split(",") if action in keymap.actions(key, [action.scope])]
    assert moved == [] and defaults.first(action.id) != ""
