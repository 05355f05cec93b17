"""Actions by id with their default keys, under OpenCode's names, and the key map that the settings change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from opencode_tui.schema.api.keybinds import DEFAULT_KEYS

Area = Literal["app", "chat", "prompt", "focus", "list"]
"""Where an action is available: everywhere, in the chat, while typing, on the focused item of the chat, in open lists."""

NONE = "none"
LEADER = "<leader>"


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a key; `name` is its line in help and in the list of commands."""

    id: str
    name: str
    area: Area = "chat"
    group: str = "Session"

    @property
    def keys(self) -> str:
        """Return the default keys, separated by commas."""
        return DEFAULT_KEYS[self.id]


ACTIONS: tuple[Action, ...] = (
    Action("app_exit", "Quit", "app", "Program"),
    Action("command_list", "All commands", "app", "Program"),
    Action("help_view", "Keyboard shortcuts", "app", "Program"),
    Action("theme_list", "Choose a theme", "app", "Program"),
    Action("status_view", "Status of this folder", "app", "Program"),
    Action("trust_view", "Folder trust", "chat", "Program"),
    Action("login_view", "Connect a provider (API key)", "chat", "Program"),
    Action("cost_view", "Cost and tokens of this session"),
    Action("permissions_view", "Permission rules", "chat", "Program"),
    Action("config_view", "Effective settings", "chat", "Program"),
    Action("doctor_view", "Check the installation", "chat", "Program"),
    Action("memory_edit", "Edit instructions (AGENTS.md)", "chat", "Program"),
    Action("terminal_suspend", "Suspend to shell", "app", "Program"),
    Action("sidebar_toggle", "Show or hide the sidebar", "chat", "Program"),
    Action("session_new", "New session"),
    Action("session_browser", "Browse sessions"),
    Action("session_list", "All sessions"),
    Action("session_search", "Search all sessions"),
    Action("session_interrupt", "Interrupt (press twice)"),
    Action("session_compact", "Compact the context"),
    Action("session_rename", "Rename this session"),
    Action("session_fork", "Fork this session"),
    Action("session_export", "Export this session"),
    Action("session_share", "Share this session by a link"),
    Action("session_unshare", "Stop sharing this session"),
    Action("session_timeline", "Timeline"),
    Action("context_view", "Context"),
    Action("diff_view", "Changes"),
    Action("background_view", "Background commands"),
    Action("language_view", "Language servers"),
    Action("mcp_view", "MCP servers"),
    Action("session_import", "Import sessions…"),
    Action("session_delete", "Move this session to the trash"),
    Action("session_archive", "Archive this session"),
    Action("session_pin", "Pin this session"),
    Action("session_restore", "Bring back the last deleted or archived session"),
    Action("session_child_cycle", "Next subagent session"),
    Action("session_child_cycle_reverse", "Previous subagent session"),
    Action("session_parent", "Parent session"),
    Action("messages_undo", "Undo the last turn"),
    Action("messages_redo", "Redo"),
    Action("messages_copy", "Copy the last response", group="Chat"),
    Action("messages_copy_part", "Copy a response or code block", group="Chat"),
    Action("file_open", "Open a named file in your editor", group="Chat"),
    Action("messages_page_up", "Page up", group="Chat"),
    Action("messages_page_down", "Page down", group="Chat"),
    Action("messages_line_up", "Line up", group="Chat"),
    Action("messages_line_down", "Line down", group="Chat"),
    Action("messages_half_page_up", "Half a page up", group="Chat"),
    Action("messages_half_page_down", "Half a page down", group="Chat"),
    Action("messages_first", "To the first message", group="Chat"),
    Action("messages_last", "To the last message", group="Chat"),
    Action("messages_focus", "Focus the conversation", group="Chat"),
    Action("messages_find", "Find in the conversation", group="Chat"),
    Action("messages_next", "Next message", group="Chat"),
    Action("messages_previous", "Previous message", group="Chat"),
    Action("messages_last_user", "Your last message", group="Chat"),
    Action("item_previous", "Previous item", "focus", "Focused conversation"),
    Action("item_next", "Next item", "focus", "Focused conversation"),
    Action("item_open", "Open or fold the item", "focus", "Focused conversation"),
    Action("item_unfold", "Open the item", "focus", "Focused conversation"),
    Action("item_fold", "Fold the item", "focus", "Focused conversation"),
    Action("item_copy", "Copy the item", "focus", "Focused conversation"),
    Action("item_copy_code", "Copy a code block of the item", "focus", "Focused conversation"),
    Action("item_editor", "Open a file of the item in your editor", "focus", "Focused conversation"),
    Action("item_revert", "Undo from the item", "focus", "Focused conversation"),
    Action("item_fork", "Fork from the item", "focus", "Focused conversation"),
    Action("item_restore", "Send the pruned output again", "focus", "Focused conversation"),
    Action("item_find", "Find in the conversation", "focus", "Focused conversation"),
    Action("item_leave", "Back to the prompt", "focus", "Focused conversation"),
    Action("display_thinking", "Toggle reasoning", group="Chat"),
    Action("tool_details", "Expand or collapse tool output", group="Chat"),
    Action("terminal_title_toggle", "Toggle terminal title", group="Program"),
    Action("agent_cycle", "Next agent", group="Agent and model"),
    Action("agent_cycle_reverse", "Previous agent", group="Agent and model"),
    Action("agent_list", "Choose an agent", group="Agent and model"),
    Action("model_list", "Choose a model", group="Agent and model"),
    Action("model_cycle_recent", "Next recent model", group="Agent and model"),
    Action("model_cycle_recent_reverse", "Previous recent model", group="Agent and model"),
    Action("variant_cycle", "Cycle model variant", group="Agent and model"),
    Action("approvals_cycle", "Cycle approvals: ask, normal, auto", group="Agent and model"),
    Action("history_search", "Search earlier prompts", group="Prompt"),
    Action("editor_open", "Write the prompt in your editor", group="Prompt"),
    Action("prompt_stash", "Stash prompt", group="Prompt"),
    Action("prompt_stash_pop", "Restore stashed prompt", group="Prompt"),
    Action("attachment_open", "View attachment", group="Prompt"),
    Action("prompt_queue_edit", "Edit last queued message", group="Prompt"),
    Action("prompt_queue_send", "Send queued message now", group="Prompt"),
    Action("prompt_delivery_toggle", "Steer the turn or queue messages", group="Prompt"),
    Action("vim_toggle", "Toggle vim mode", group="Prompt"),
    Action("input_submit", "Send", "prompt", "Prompt"),
    Action("input_newline", "New line", "prompt", "Prompt"),
    Action("input_clear", "Clear the prompt", "prompt", "Prompt"),
    Action("input_paste", "Paste (text or image)", "chat", "Prompt"),
    Action("history_previous", "Earlier prompt", "prompt", "Prompt"),
    Action("history_next", "Later prompt", "prompt", "Prompt"),
    Action("input_move_left", "Left", "prompt", "Editing"),
    Action("input_move_right", "Right", "prompt", "Editing"),
    Action("input_move_up", "Up", "prompt", "Editing"),
    Action("input_move_down", "Down", "prompt", "Editing"),
    Action("input_select_left", "Select to the left", "prompt", "Editing"),
    Action("input_select_right", "Select to the right", "prompt", "Editing"),
    Action("input_select_up", "Select up", "prompt", "Editing"),
    Action("input_select_down", "Select down", "prompt", "Editing"),
    Action("input_line_home", "Start of the line", "prompt", "Editing"),
    Action("input_line_end", "End of the line", "prompt", "Editing"),
    Action("input_select_line_home", "Select to the start of the line", "prompt", "Editing"),
    Action("input_select_line_end", "Select to the end of the line", "prompt", "Editing"),
    Action("input_visual_line_home", "Start of visual line", "prompt", "Editing"),
    Action("input_visual_line_end", "End of visual line", "prompt", "Editing"),
    Action("input_select_visual_line_home", "Select to the start of visual line", "prompt", "Editing"),
    Action("input_select_visual_line_end", "Select to the end of visual line", "prompt", "Editing"),
    Action("input_buffer_home", "Start of the prompt", "prompt", "Editing"),
    Action("input_buffer_end", "End of the prompt", "prompt", "Editing"),
    Action("input_select_buffer_home", "Select to the start", "prompt", "Editing"),
    Action("input_select_buffer_end", "Select to the end", "prompt", "Editing"),
    Action("input_delete_line", "Delete the line", "prompt", "Editing"),
    Action("input_delete_to_line_end", "Delete to the end of the line", "prompt", "Editing"),
    Action("input_delete_to_line_start", "Delete to the start of the line", "prompt", "Editing"),
    Action("input_backspace", "Delete to the left", "prompt", "Editing"),
    Action("input_delete", "Delete to the right", "prompt", "Editing"),
    Action("input_undo", "Undo in the prompt", "prompt", "Editing"),
    Action("input_redo", "Redo in the prompt", "prompt", "Editing"),
    Action("input_word_forward", "Next word", "prompt", "Editing"),
    Action("input_word_backward", "Previous word", "prompt", "Editing"),
    Action("input_select_word_forward", "Select the next word", "prompt", "Editing"),
    Action("input_select_word_backward", "Select previous word", "prompt", "Editing"),
    Action("input_delete_word_forward", "Delete the next word", "prompt", "Editing"),
    Action("input_delete_word_backward", "Delete previous word", "prompt", "Editing"
    ),
)  # fmt: skip

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}

SESSION_PAGE: Mapping[str, str] = {
    "session_delete": "ctrl+d",
    "session_archive": "ctrl+a",
    "session_rename": "ctrl+r",
    "session_export": "ctrl+e",
    "session_fork": "ctrl+f",
    "session_pin": "ctrl+p",
}
"""Actions on the selected session of the sessions page, with their additional keys there."""

_OURS = {"return": "enter", "esc": "escape", "del": "delete", "option": "alt", "meta": "alt", "space": "space"}
_ORDER = ("ctrl", "alt", "super", "shift")
_SIGNS = {
    "-": "minus", ".": "full_stop", "?": "question_mark", "/": "slash", "!": "exclamation_mark", "+": "plus", "=": "equals_sign",
    ",": "comma", ";": "semicolon", "[": "left_square_bracket", "]": "right_square_bracket", "\\": "backslash", "_": "underscore",
}  # fmt: skip
_ALIKE = {
    "ctrl+underscore": "ctrl+minus",
    "ctrl+m": "enter",
    "ctrl+i": "tab",
    "ctrl+h": "backspace",
    "newline": "ctrl+j",
}
"""Keys as some terminals send them, and the key whose bindings they share."""


def parse_key(text: str) -> str:
    """Return a key of the settings (`Ctrl+Alt+esc`) in normal form: modifiers in order, then the name."""
    text = text.strip().lower()
    words = ["+"] if text == "+" else text.split("+")
    if words and words[-1] == "" and len(words) > 2:  # `ctrl++`
        words = [*words[:-2], "+"]
    *modifiers, name = [_OURS.get(word, word) for word in words]
    name = _SIGNS.get(name, name)
    return "+".join([*(one for one in _ORDER if one in modifiers), name])


def normal(key: str) -> str:
    """Return a key as the terminal reported it, in normal form."""
    *modifiers, name = key.split("+")
    if len(name) == 1 and name.isupper():
        modifiers, name = [*modifiers, "shift"], name.lower()
    ordered = "+".join([*(one for one in _ORDER if one in modifiers), name])
    return _ALIKE.get(ordered, ordered)


class Keymap:
    """The active key bindings."""

    def __init__(self, changed: Mapping[str, str] | None = None) -> None:
        given = {name: keys for name, keys in (changed or {}).items() if isinstance(keys, str)}  # pyright: ignore[reportUnnecessaryIsInstance] - from a file
        self.leader = parse_key(given.get("leader", "ctrl+x"))
        self._changed = frozenset(given)
        self._plain: dict[str, list[Action]] = {}
        self._led: dict[str, list[Action]] = {}
        self._keys: dict[str, list[str]] = {}
        for action in ACTIONS:
            self._bind(action, given.get(action.id, action.keys))

    def _bind(self, action: Action, keys: str) -> None:
        for key in keys.split(","):
            key = key.strip()
            if not key or key.lower() == NONE:
                continue
            is_led = key.lower().startswith(LEADER)
            parsed = parse_key(key[len(LEADER) :] if is_led else key)
            (self._led if is_led else self._plain).setdefault(parsed, []).append(action)
            self._keys.setdefault(action.id, []).append(f"{LEADER}{parsed}" if is_led else parsed)

    def actions(self, key: str, *, led: bool = False) -> Sequence[Action]:
        """Return the actions of a key in the order of the table; `led` for a key after the leader."""
        return (self._led if led else self._plain).get(normal(key), ())

    def is_leader(self, key: str) -> bool:
        """Return whether the key starts a sequence."""
        return bool(self._led) and normal(key) == self.leader

    def led(self) -> Sequence[tuple[str, Action]]:
        """Return the keys after the leader in readable form, each with its first action, by group."""
        found = [(shown(key, self.leader), actions[0]) for key, actions in self._led.items()]
        order = {action.id: at for at, action in enumerate(ACTIONS)}
        return sorted(found, key=lambda one: order[one[1].id])

    def keys(self, action_id: str) -> Sequence[str]:
        """Return the keys of an action in readable form."""
        return [shown(key, self.leader) for key in self._keys.get(action_id, ())]

    def on_page(self, action_id: str) -> Sequence[str]:
        """Return the keys of an action on the sessions page in normal form; keys of a sequence start with `LEADER`.

        Keys of the settings replace those of the page. Single letters are omitted: they filter the list.
        """
        own = [] if action_id in self._changed else [SESSION_PAGE[action_id]]
        return [key for key in (*own, *self._keys.get(action_id, ())) if len(key) > 1 and key not in _SIGNS.values()]

    def page_hint(self, action_id: str) -> str:
        """Return the key to show for an action on the sessions page; empty when it has none."""
        return next((shown(key, self.leader) for key in self.on_page(action_id)), "")

    def first(self, action_id: str) -> str:
        """Return the key to show in a hint; empty when the action has none."""
        return next(iter(self.keys(action_id)), "")


def shown(key: str, leader: str) -> str:
    """Return a key in readable form: `ctrl+x c` for one after the leader, `esc` and `del` as on the keyboard."""
    if key.startswith(LEADER):
        return f"{shown(leader, leader)} {shown(key[len(LEADER) :], leader)}"
    *modifiers, name = key.split("+")
    back = {sign: text for text, sign in _SIGNS.items()}
    short = {"escape": "esc", "delete": "del", "pageup": "pgup", "pagedown": "pgdn"}
    return "+".join([*modifiers, short.get(name, back.get(name, name))])
