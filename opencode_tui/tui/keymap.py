"""Which key does what: every action by its id, with its default keys under OpenCode's names, and what the person changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from opencode_tui.schema.api.keybinds import DEFAULT_KEYS

Area = Literal["app", "chat", "prompt", "list"]
"""Where an action can be taken: anywhere, where the chat is shown, while writing, in lists that open."""

NONE = "none"
LEADER = "<leader>"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a key can do; `name` is its line in help and commands."""

    id: str
    name: str
    area: Area = "chat"
    group: str = "Session"

    @property
    def keys(self) -> str:
        """The default keys, separated by commas."""
        return DEFAULT_KEYS[self.id]


ACTIONS: tuple[Action, ...] = (
    Action("app_exit", "Quit", "app", "Program"),
    Action("command_list", "All commands", "app", "Program"),
    Action("help_view", "Keys in force", "app", "Program"),
    Action("theme_list", "Choose a theme", "app", "Program"),
    Action("status_view", "Status of this folder", "app", "Program"),
    Action("trust_view", "What this folder would start, and whether it may", "chat", "Program"),
    Action("terminal_suspend", "Back to the shell for a while", "app", "Program"),
    Action("sidebar_toggle", "Show or hide the sidebar", "chat", "Program"),
    Action("session_new", "New session"),
    Action("session_list", "All sessions"),
    Action("session_interrupt", "Interrupt (press twice)"),
    Action("session_compact", "Compact the context"),
    Action("session_rename", "Rename this session"),
    Action("session_fork", "Fork this session"),
    Action("session_export", "Export this session as Markdown"),
    Action("session_timeline", "Timeline"),
    Action("context_view", "What the model sees"),
    Action("diff_view", "What was changed"),
    Action("session_delete", "Delete this session"),
    Action("session_child_cycle", "Next session of an agent"),
    Action("session_child_cycle_reverse", "Previous session of an agent"),
    Action("session_parent", "Back to the session above"),
    Action("messages_undo", "Undo the last turn"),
    Action("messages_redo", "Redo what was undone"),
    Action("messages_copy", "Copy the last answer", group="Chat"),
    Action("messages_page_up", "Page up", group="Chat"),
    Action("messages_page_down", "Page down", group="Chat"),
    Action("messages_line_up", "Line up", group="Chat"),
    Action("messages_line_down", "Line down", group="Chat"),
    Action("messages_half_page_up", "Half a page up", group="Chat"),
    Action("messages_half_page_down", "Half a page down", group="Chat"),
    Action("messages_first", "To the first message", group="Chat"),
    Action("messages_last", "To the last message", group="Chat"),
    Action("messages_focus", "Go through the conversation by keys", group="Chat"),
    Action("messages_next", "Next message", group="Chat"),
    Action("messages_previous", "Previous message", group="Chat"),
    Action("messages_last_user", "Your last message", group="Chat"),
    Action("display_thinking", "Show or hide thoughts", group="Chat"),
    Action("tool_details", "Open or fold finished tools", group="Chat"),
    Action("terminal_title_toggle", "Set the terminal's title, or leave it", group="Program"),
    Action("agent_cycle", "Next agent", group="Agent and model"),
    Action("agent_cycle_reverse", "Previous agent", group="Agent and model"),
    Action("agent_list", "Choose an agent", group="Agent and model"),
    Action("model_list", "Choose a model", group="Agent and model"),
    Action("model_cycle_recent", "Next model that you used", group="Agent and model"),
    Action("model_cycle_recent_reverse", "Previous model that you used", group="Agent and model"),
    Action("variant_cycle", "Next variant of the model", group="Agent and model"),
    Action("editor_open", "Write the prompt in your editor", group="Prompt"),
    Action("prompt_stash", "Put the prompt aside", group="Prompt"),
    Action("prompt_stash_pop", "Bring the prompt back that was put aside", group="Prompt"),
    Action("attachment_open", "Look at a paste or an image", group="Prompt"),
    Action("prompt_queue_edit", "Take the last queued message back", group="Prompt"),
    Action("input_submit", "Send", "prompt", "Prompt"),
    Action("input_newline", "New line", "prompt", "Prompt"),
    Action("input_clear", "Clear the prompt", "prompt", "Prompt"),
    Action("input_paste", "Paste, images too", "chat", "Prompt"),
    Action("history_previous", "Earlier prompt", "prompt", "Prompt"),
    Action("history_next", "Later prompt", "prompt", "Prompt"),
    Action("input_move_left", "Left", "prompt", "Writing"),
    Action("input_move_right", "Right", "prompt", "Writing"),
    Action("input_move_up", "Up", "prompt", "Writing"),
    Action("input_move_down", "Down", "prompt", "Writing"),
    Action("input_select_left", "Select to the left", "prompt", "Writing"),
    Action("input_select_right", "Select to the right", "prompt", "Writing"),
    Action("input_select_up", "Select up", "prompt", "Writing"),
    Action("input_select_down", "Select down", "prompt", "Writing"),
    Action("input_line_home", "Start of the line", "prompt", "Writing"),
    Action("input_line_end", "End of the line", "prompt", "Writing"),
    Action("input_select_line_home", "Select to the start of the line", "prompt", "Writing"),
    Action("input_select_line_end", "Select to the end of the line", "prompt", "Writing"),
    Action("input_visual_line_home", "Start of the row", "prompt", "Writing"),
    Action("input_visual_line_end", "End of the row", "prompt", "Writing"),
    Action("input_select_visual_line_home", "Select to the start of the row", "prompt", "Writing"),
    Action("input_select_visual_line_end", "Select to the end of the row", "prompt", "Writing"),
    Action("input_buffer_home", "Start of the prompt", "prompt", "Writing"),
    Action("input_buffer_end", "End of the prompt", "prompt", "Writing"),
    Action("input_select_buffer_home", "Select to the start", "prompt", "Writing"),
    Action("input_select_buffer_end", "Select to the end", "prompt", "Writing"),
    Action("input_delete_line", "Delete the line", "prompt", "Writing"),
    Action("input_delete_to_line_end", "Delete to the end of the line", "prompt", "Writing"),
    Action("input_delete_to_line_start", "Delete to the start of the line", "prompt", "Writing"),
    Action("input_backspace", "Delete to the left", "prompt", "Writing"),
    Action("input_delete", "Delete to the right", "prompt", "Writing"),
    Action("input_undo", "Undo in the prompt", "prompt", "Writing"),
    Action("input_redo", "Redo in the prompt", "prompt", "Writing"),
    Action("input_word_forward", "Next word", "prompt", "Writing"),
    Action("input_word_backward", "Previous word", "prompt", "Writing"),
    Action("input_select_word_forward", "Select the next word", "prompt", "Writing"),
    Action("input_select_word_backward", "Select the word before", "prompt", "Writing"),
    Action("input_delete_word_forward", "Delete the next word", "prompt", "Writing"),
    Action("input_delete_word_backward", "Delete the word before", "prompt", "Writing"
    ),
)  # fmt: skip

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}

SESSION_PAGE: Mapping[str, str] = {
    "session_fork": "ctrl+f",
    "session_rename": "ctrl+r",
    "session_export": "ctrl+e",
    "session_delete": "ctrl+d",
}
"""Acts on the session that is chosen on their page, with the keys that they have there beside those of the chat."""

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
"""What terminals send for a key, and the key: one who binds the right side gets the left one too."""


def parse_key(text: str) -> str:
    """A key as the settings write it (`Ctrl+Alt+esc`) in the one form that is compared: modifiers in order, then the name."""
    text = text.strip().lower()
    words = ["+"] if text == "+" else text.split("+")
    if words and words[-1] == "" and len(words) > 2:  # `ctrl++`
        words = [*words[:-2], "+"]
    *modifiers, name = [_OURS.get(word, word) for word in words]
    name = _SIGNS.get(name, name)
    return "+".join([*(one for one in _ORDER if one in modifiers), name])


def normal(key: str) -> str:
    """A key as the terminal reported it, in the same form."""
    *modifiers, name = key.split("+")
    if len(name) == 1 and name.isupper():
        modifiers, name = [*modifiers, "shift"], name.lower()
    ordered = "+".join([*(one for one in _ORDER if one in modifiers), name])
    return _ALIKE.get(ordered, ordered)


class Keymap:
    """The keys in force."""

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
        """What a key can mean, in the order of the table; `led` after the leader."""
        return (self._led if led else self._plain).get(normal(key), ())

    def is_leader(self, key: str) -> bool:
        """Whether it begins a sequence."""
        return bool(self._led) and normal(key) == self.leader

    def keys(self, action_id: str) -> Sequence[str]:
        """The keys of an action as a person reads them."""
        return [shown(key, self.leader) for key in self._keys.get(action_id, ())]

    def on_page(self, action_id: str) -> Sequence[str]:
        """The keys of an act on the page of sessions, as `parse_key` gives them, behind `LEADER` those of a sequence.

        Keys of the settings take the place of the page's own. Letters are left out: they filter there.
        """
        own = [] if action_id in self._changed else [SESSION_PAGE[action_id]]
        return [key for key in (*own, *self._keys.get(action_id, ())) if len(key) > 1 and key not in _SIGNS.values()]

    def page_hint(self, action_id: str) -> str:
        """The key to name for an act on the page of sessions; empty when it has none."""
        return next((shown(key, self.leader) for key in self.on_page(action_id)), "")

    def first(self, action_id: str) -> str:
        """The key to name in a hint; empty when it has none."""
        return next(iter(self.keys(action_id)), "")


def shown(key: str, leader: str) -> str:
    """`ctrl+x c` for a key behind the leader, `esc` and `del` as they stand on the keyboard."""
    if key.startswith(LEADER):
        return f"{shown(leader, leader)} {shown(key[len(LEADER) :], leader)}"
    *modifiers, name = key.split("+")
    back = {sign: text for text, sign in _SIGNS.items()}
    short = {"escape": "esc", "delete": "del", "pageup": "pgup", "pagedown": "pgdn"}
    return "+".join([*modifiers, short.get(name, back.get(name, name))])
