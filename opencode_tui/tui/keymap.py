"""Which key does what: every action by its id, with its default keys under OpenCode's names, and what the person changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Area = Literal["app", "chat", "prompt", "list"]
"""Where an action can be taken: anywhere, where the chat is shown, while writing, in lists that open."""

NONE = "none"
LEADER = "<leader>"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a key can do; `keys` are its defaults, separated by commas; `name` is its line in help and commands."""

    id: str
    keys: str
    name: str
    area: Area = "chat"
    group: str = "Session"


ACTIONS: tuple[Action, ...] = (
    Action("app_exit", "ctrl+c,ctrl+d,<leader>q", "Quit", "app", "Program"),
    Action("command_list", "ctrl+p", "All commands", "app", "Program"),
    Action("help_view", "f1,?", "Keys in force", "app", "Program"),
    Action("theme_list", "<leader>t", "Choose a theme", "app", "Program"),
    Action("status_view", "<leader>s", "Status of this folder", "app", "Program"),
    Action("trust_view", "<leader>w", "What this folder would start, and whether it may", "chat", "Program"),
    Action("terminal_suspend", "ctrl+z", "Back to the shell for a while", "app", "Program"),
    Action("sidebar_toggle", "<leader>b", "Show or hide the sidebar", "chat", "Program"),
    Action("session_new", "<leader>n", "New session"),
    Action("session_list", "<leader>l", "All sessions"),
    Action("session_interrupt", "escape", "Interrupt (press twice)"),
    Action("session_compact", "<leader>c", "Compact the context"),
    Action("session_rename", "none", "Rename this session"),
    Action("session_fork", "<leader>f", "Fork this session"),
    Action("session_export", "<leader>x", "Export this session as Markdown"),
    Action("session_timeline", "<leader>g", "Timeline"),
    Action("context_view", "<leader>i", "What the model sees"),
    Action("diff_view", "<leader>d", "What was changed"),
    Action("session_delete", "none", "Delete this session"),
    Action("session_child_cycle", "<leader>right", "Next session of an agent"),
    Action("session_child_cycle_reverse", "<leader>left", "Previous session of an agent"),
    Action("session_parent", "<leader>up", "Back to the session above"),
    Action("messages_undo", "<leader>u", "Undo the last turn"),
    Action("messages_redo", "<leader>r", "Redo what was undone"),
    Action("messages_copy", "<leader>y", "Copy the last answer", group="Chat"),
    Action("messages_page_up", "pageup,ctrl+alt+b", "Page up", group="Chat"),
    Action("messages_page_down", "pagedown,ctrl+alt+f", "Page down", group="Chat"),
    Action("messages_line_up", "ctrl+alt+y", "Line up", group="Chat"),
    Action("messages_line_down", "ctrl+alt+e", "Line down", group="Chat"),
    Action("messages_half_page_up", "ctrl+alt+u", "Half a page up", group="Chat"),
    Action("messages_half_page_down", "ctrl+alt+d", "Half a page down", group="Chat"),
    Action("messages_first", "ctrl+g,home", "To the first message", group="Chat"),
    Action("messages_last", "ctrl+alt+g,end", "To the last message", group="Chat"),
    Action("messages_focus", "ctrl+up", "Go through the conversation by keys", group="Chat"),
    Action("messages_next", "none", "Next message", group="Chat"),
    Action("messages_previous", "none", "Previous message", group="Chat"),
    Action("messages_last_user", "none", "Your last message", group="Chat"),
    Action("display_thinking", "none", "Show or hide thoughts", group="Chat"),
    Action("tool_details", "none", "Open or fold finished tools", group="Chat"),
    Action("terminal_title_toggle", "none", "Set the terminal's title, or leave it", group="Program"),
    Action("agent_cycle", "tab", "Next agent", group="Agent and model"),
    Action("agent_cycle_reverse", "shift+tab", "Previous agent", group="Agent and model"),
    Action("agent_list", "<leader>a", "Choose an agent", group="Agent and model"),
    Action("model_list", "<leader>m", "Choose a model", group="Agent and model"),
    Action("model_cycle_recent", "f2", "Next model that you used", group="Agent and model"),
    Action("model_cycle_recent_reverse", "shift+f2", "Previous model that you used", group="Agent and model"),
    Action("variant_cycle", "ctrl+t", "Next variant of the model", group="Agent and model"),
    Action("editor_open", "<leader>e", "Write the prompt in your editor", group="Prompt"),
    Action("prompt_stash", "none", "Put the prompt aside", group="Prompt"),
    Action("prompt_stash_pop", "none", "Bring the prompt back that was put aside", group="Prompt"),
    Action("attachment_open", "<leader>v", "Look at a paste or an image", group="Prompt"),
    Action("prompt_queue_edit", "<leader>k", "Take the last queued message back", group="Prompt"),
    Action("input_submit", "return", "Send", "prompt", "Prompt"),
    Action("input_newline", "shift+return,ctrl+return,alt+return,ctrl+j", "New line", "prompt", "Prompt"),
    Action("input_clear", "ctrl+c", "Clear the prompt", "prompt", "Prompt"),
    Action("input_paste", "ctrl+v", "Paste, images too", "chat", "Prompt"),
    Action("history_previous", "up", "Earlier prompt", "prompt", "Prompt"),
    Action("history_next", "down", "Later prompt", "prompt", "Prompt"),
    Action("input_move_left", "left,ctrl+b", "Left", "prompt", "Writing"),
    Action("input_move_right", "right,ctrl+f", "Right", "prompt", "Writing"),
    Action("input_move_up", "up", "Up", "prompt", "Writing"),
    Action("input_move_down", "down", "Down", "prompt", "Writing"),
    Action("input_select_left", "shift+left", "Select to the left", "prompt", "Writing"),
    Action("input_select_right", "shift+right", "Select to the right", "prompt", "Writing"),
    Action("input_select_up", "shift+up", "Select up", "prompt", "Writing"),
    Action("input_select_down", "shift+down", "Select down", "prompt", "Writing"),
    Action("input_line_home", "ctrl+a", "Start of the line", "prompt", "Writing"),
    Action("input_line_end", "ctrl+e", "End of the line", "prompt", "Writing"),
    Action("input_select_line_home", "ctrl+shift+a", "Select to the start of the line", "prompt", "Writing"),
    Action("input_select_line_end", "ctrl+shift+e", "Select to the end of the line", "prompt", "Writing"),
    Action("input_visual_line_home", "alt+a", "Start of the row", "prompt", "Writing"),
    Action("input_visual_line_end", "alt+e", "End of the row", "prompt", "Writing"),
    Action("input_select_visual_line_home", "alt+shift+a", "Select to the start of the row", "prompt", "Writing"),
    Action("input_select_visual_line_end", "alt+shift+e", "Select to the end of the row", "prompt", "Writing"),
    Action("input_buffer_home", "home", "Start of the prompt", "prompt", "Writing"),
    Action("input_buffer_end", "end", "End of the prompt", "prompt", "Writing"),
    Action("input_select_buffer_home", "shift+home", "Select to the start", "prompt", "Writing"),
    Action("input_select_buffer_end", "shift+end", "Select to the end", "prompt", "Writing"),
    Action("input_delete_line", "ctrl+shift+d", "Delete the line", "prompt", "Writing"),
    Action("input_delete_to_line_end", "ctrl+k", "Delete to the end of the line", "prompt", "Writing"),
    Action("input_delete_to_line_start", "ctrl+u", "Delete to the start of the line", "prompt", "Writing"),
    Action("input_backspace", "backspace,shift+backspace", "Delete to the left", "prompt", "Writing"),
    Action("input_delete", "ctrl+d,delete,shift+delete", "Delete to the right", "prompt", "Writing"),
    Action("input_undo", "ctrl+-,super+z", "Undo in the prompt", "prompt", "Writing"),
    Action("input_redo", "ctrl+.,super+shift+z", "Redo in the prompt", "prompt", "Writing"),
    Action("input_word_forward", "alt+f,alt+right,ctrl+right", "Next word", "prompt", "Writing"),
    Action("input_word_backward", "alt+b,alt+left,ctrl+left", "Previous word", "prompt", "Writing"),
    Action("input_select_word_forward", "alt+shift+f,alt+shift+right", "Select the next word", "prompt", "Writing"),
    Action("input_select_word_backward", "alt+shift+b,alt+shift+left", "Select the word before", "prompt", "Writing"),
    Action("input_delete_word_forward", "alt+d,alt+delete,ctrl+delete", "Delete the next word", "prompt", "Writing"),
    Action(
        "input_delete_word_backward", "ctrl+w,ctrl+backspace,alt+backspace", "Delete the word before", "prompt", "Writing"
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
