"""Keys by OpenCode's names, changed by the settings."""

import pytest

from opencode_tui.schema.api.keybinds import ACTIONS, MAIN_SCOPES
from opencode_tui.tui.keys.keymap import Keymap, normal, parse_key


def ids(keymap: Keymap, key: str, *, after_leader: bool = False) -> list[str]:
    return [action.id for action in keymap.actions(key, sorted(MAIN_SCOPES), after_leader=after_leader)]


def test_ids_are_told_once() -> None:
    names = [action.id for action in ACTIONS]
    assert len(names) == len(set(names))


def test_the_defaults_are_those_that_people_know() -> None:
    keymap = Keymap()
    assert "command_list" in ids(keymap, "ctrl+p")
    assert ids(keymap, "u", after_leader=True) == ["messages_undo"]
    assert "input_submit" in ids(keymap, "enter")
    assert "session_interrupt" in ids(keymap, "escape")
    assert keymap.first("session_compact") == "ctrl+x c"


def test_a_key_of_the_settings_takes_the_place_of_the_default() -> None:
    keymap = Keymap({"command_list": "ctrl+o,<leader>0"})
    assert "command_list" not in ids(keymap, "ctrl+p")
    assert "command_list" in ids(keymap, "ctrl+o")
    assert ids(keymap, "0", after_leader=True) == ["command_list"]
    assert keymap.keys("command_list") == ["ctrl+o", "ctrl+x 0"]


def test_none_switches_a_key_off() -> None:
    keymap = Keymap({"agent_cycle": "none"})
    assert ids(keymap, "tab") == []
    assert keymap.first("agent_cycle") == ""


def test_the_keys_after_the_leader_are_in_their_order() -> None:
    keys = [key for key, _ in Keymap().leader_keys(("prompt", "chat", "app"))]
    letters = [key for key in keys if len(key) == 1 and key.isalnum()]
    assert "n" in letters
    assert letters == sorted(letters) == keys[: len(letters)]


def test_another_leader_leads() -> None:
    keymap = Keymap({"leader": "ctrl+space"})
    assert keymap.is_leader("ctrl+space", ["chat"])
    assert not keymap.is_leader("ctrl+x", ["chat"])
    assert keymap.first("session_new") == "ctrl+space n"


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Ctrl+Alt+Esc", "ctrl+alt+escape"),
        ("alt+ctrl+u", "ctrl+alt+u"),
        ("return", "enter"),
        ("meta+f", "alt+f"),
        ("ctrl+-", "ctrl+minus"),
        ("ctrl+.", "ctrl+full_stop"),
        ("?", "question_mark"),
        ("ctrl++", "ctrl+plus"),
        (" del ", "delete"),
    ],
)
def test_a_key_can_be_written_in_several_ways(written: str, key: str) -> None:
    assert parse_key(written) == key


@pytest.mark.parametrize(
    ("reported", "key"), [("ctrl+underscore", "ctrl+minus"), ("alt+F", "alt+shift+f"), ("shift+alt+b", "alt+shift+b")]
)
def test_what_terminals_send_for_a_key_is_that_key(reported: str, key: str) -> None:
    assert normal(reported) == key


def test_keys_are_shown_as_they_stand_on_the_keyboard() -> None:
    keymap = Keymap()
    assert keymap.first("session_interrupt") == "esc"
    assert keymap.first("messages_page_up") == "pgup"
    assert keymap.keys("input_delete") == ["ctrl+d", "del", "shift+del"]
