"""Actions that keys can be bound to, and bindings that take a key away from sending, stopping or typing.

Source: reference, section 38.
"""

from collections.abc import Iterator, Mapping

from opencode_tui.config.notice import Notice
from opencode_tui.config.sources.layer import Origins


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ACTIONS = _names(
    """
    leader app_exit editor_open theme_list sidebar_toggle scrollbar_toggle username_toggle status_view session_export session_new
    session_list session_timeline session_fork session_rename session_delete stash_delete model_provider_list
    model_favorite_toggle session_share session_unshare session_interrupt session_compact session_child_cycle
    session_child_cycle_reverse session_parent messages_page_up messages_page_down messages_line_up messages_line_down
    messages_half_page_up messages_half_page_down messages_first messages_last messages_next messages_previous messages_last_user
    messages_copy messages_undo messages_redo messages_toggle_conceal tool_details model_list model_cycle_recent
    model_cycle_recent_reverse model_cycle_favorite model_cycle_favorite_reverse command_list agent_list agent_cycle
    agent_cycle_reverse variant_cycle input_clear input_paste input_submit input_newline input_move_left input_move_right
    input_move_up input_move_down input_select_left input_select_right input_select_up input_select_down input_line_home
    input_line_end input_select_line_home input_select_line_end input_visual_line_home input_visual_line_end
    input_select_visual_line_home input_select_visual_line_end input_buffer_home input_buffer_end input_select_buffer_home
    input_select_buffer_end input_delete_line input_delete_to_line_end input_delete_to_line_start input_backspace input_delete
    input_undo input_redo input_word_forward input_word_backward input_select_word_forward input_select_word_backward
    input_delete_word_forward input_delete_word_backward history_previous history_next terminal_suspend terminal_title_toggle
    tips_toggle display_thinking context_view diff_view help_view attachment_open messages_focus prompt_queue_edit prompt_stash
    prompt_stash_pop trust_view
    """
)
"""Actions that keys can be bound to; ours beside OpenCode's: `leader`, and from `context_view` on."""

UNSUPPORTED_ACTIONS = _names(
    """
    scrollbar_toggle username_toggle stash_delete model_provider_list model_favorite_toggle session_share session_unshare
    messages_toggle_conceal model_cycle_favorite model_cycle_favorite_reverse tips_toggle
    """
)
"""Those of OpenCode's actions that are no act here: what they are about is not there."""

_RESERVED = {
    "enter": ("input_submit",),
    "return": ("input_submit",),
    "ctrl+c": ("app_exit", "input_clear"),
    "escape": ("session_interrupt",),
    "esc": ("session_interrupt",),
}
"""Keys that a person relies on, and the actions that may have them."""

_NEEDED = {"input_submit": "send a prompt", "session_interrupt": "interrupt a run"}
_LISTED = ("session_rename", "session_delete", "session_export")
"""Actions whose keys hold on a page of their own, where they may be those of others."""

_LEADER = "<leader>"
_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "meta", "option", "hyper"})
_KEY_NAMES = _names(
    """
    enter return escape esc tab space backspace delete del insert home end pageup pagedown up down left right linefeed newline
    minus plus full_stop comma slash backslash question_mark exclamation_mark equals_sign semicolon colon underscore
    left_square_bracket right_square_bracket apostrophe grave_accent number_sign at dollar_sign percent_sign ampersand asterisk
    """
)


def check_keybinds(keybinds: Mapping[str, str], origins: Origins) -> Iterator[Notice]:
    """Yield what is wrong with bindings: unknown actions and keys, keys that are needed otherwise, one key for two actions."""
    users: dict[tuple[str, bool], str] = {}
    for action, binding in keybinds.items():
        path = ("keybinds", action)
        if action not in ACTIONS:
            yield origins.notice(path, f"unknown action (ignored){_did_you_mean(action)}")
            continue
        if action in UNSUPPORTED_ACTIONS:
            if binding.strip().lower() != "none":
                yield origins.notice(path, "not available here (ignored)")
            continue
        for fault in (*_binding_faults(action, binding), *_shared_keys(action, binding, users)):
            yield origins.notice(path, fault)


def _binding_faults(action: str, binding: str) -> Iterator[str]:
    keys = _split(binding)
    if not any(keys):
        yield "no key; write none to switch it off"
    if keys == ["none"]:
        if action in _NEEDED:
            yield f"without a key you cannot {_NEEDED[action]}; choose one"
        if action == "leader":
            yield f"without a leader key nothing that begins with {_LEADER} works; choose a key"
        return
    if action == "leader" and (len(keys) > 1 or keys[0].startswith(_LEADER)):
        yield f"expected one key without {_LEADER}"
        return
    for key in keys:
        if is_captured(action, key):
            yield f"{key} is reserved; choose another key"
        elif key and not _is_key(key.removeprefix(_LEADER)):
            yield f"{key!r} is no key; write it as in ctrl+x, f2 or {_LEADER}n"


def _shared_keys(action: str, binding: str, users: dict[tuple[str, bool], str]) -> Iterator[str]:
    """Yield a fault for each key that an action before has; while writing, keys mean something else than elsewhere."""
    is_writing = action.startswith(("input_", "history_"))
    for key in _split(binding):
        if not key or key == "none" or action in _LISTED:
            continue
        other = users.setdefault((key, is_writing), action)
        if other != action and not (is_writing and "history_" in f"{other} {action}"):
            yield f"{key} is the key of {other} too; choose another key"


def _split(binding: str) -> list[str]:
    """Return the keys of a binding, in lower case; a comma may be a key itself."""
    return [key.strip().lower() for key in binding.split(",")]


def is_captured(action: str, key: str) -> bool:
    """Return whether an action would take a key away from sending, stopping, or plain typing."""
    return (key in _RESERVED and action not in _RESERVED[key]) or _is_typed(key, action)


def _is_typed(key: str, action: str) -> bool:
    is_letter = len(key.removeprefix("shift+")) == 1 or key in ("space", "backspace")
    return is_letter and key != "?" and not action.startswith("input_")


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if not key.endswith("+") else [*key[:-1].rstrip("+").split("+"), "plus"]
    is_function_key = name.startswith("f") and name[1:].isdigit() and 1 <= int(name[1:]) <= 24
    return all(one in _MODIFIERS for one in modifiers if one) and (
        len(name) == 1 or name in _KEY_NAMES or is_function_key
    )


def _did_you_mean(action: str) -> str:
    import difflib  # only for a mistake

    found = difflib.get_close_matches(action.lower(), sorted(ACTIONS), 1)
    return f", did you mean {found[0]!r}?" if found else ""
