"""Checks of key bindings: unknown actions and keys, reserved keys, and one key for two actions."""

from collections.abc import Iterator, Mapping, Sequence

from opencode_tui.config.notice import Notice
from opencode_tui.config.sources.layer import Origins
from opencode_tui.schema.api.keybinds import DEFAULT_KEYS
from opencode_tui.schema.suggest import suggest


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNSUPPORTED_ACTIONS = _names(
    """
    scrollbar_toggle username_toggle stash_delete model_provider_list model_favorite_toggle
    messages_toggle_conceal model_cycle_favorite model_cycle_favorite_reverse tips_toggle
    """
)
"""OpenCode's actions for features that this program does not have."""

ACTIONS = frozenset(DEFAULT_KEYS) | UNSUPPORTED_ACTIONS
"""Actions that the settings may name."""

_RESERVED = {
    "enter": ("input_submit", "item_open"),
    "return": ("input_submit", "item_open"),
    "ctrl+c": ("app_exit", "input_clear"),
    "escape": ("session_interrupt", "item_leave"),
    "esc": ("session_interrupt", "item_leave"),
}
"""Keys that the user relies on, and the actions that may have them."""

_NEEDED = {"input_submit": "send a prompt", "session_interrupt": "interrupt a run"}
_LISTED = ("session_rename", "session_delete", "session_export", "session_archive", "session_pin")
"""Actions whose keys apply to a page of their own, where other actions may have the same keys."""

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
    """Yield a warning for each unknown action or key, each reserved key, and each key that two actions have."""
    users: dict[tuple[str, str], str] = {}
    defaults = {action: _split(keys) for action, keys in DEFAULT_KEYS.items() if action not in keybinds}
    for action, binding in keybinds.items():
        path = ("keybinds", action)
        if action not in ACTIONS:
            yield origins.notice(path, f"unknown action (ignored){suggest(action, ACTIONS)}")
            continue
        if action in UNSUPPORTED_ACTIONS:
            if binding.strip().lower() != "none":
                yield origins.notice(path, "not available here (ignored)")
            continue
        for fault in (*_binding_faults(action, binding), *_shared_keys(action, binding, users, defaults)):
            yield origins.notice(path, fault)


def _binding_faults(action: str, binding: str) -> Iterator[str]:
    keys = _split(binding)
    if not any(keys):
        yield "no key; write none to switch it off"
    if keys == ["none"]:
        if action in _NEEDED:
            yield f"without a key you cannot {_NEEDED[action]}; choose one"
        if action == "leader":
            yield f"without a leader key, no binding that starts with {_LEADER} works; choose a key"
        return
    if action == "leader" and (len(keys) > 1 or keys[0].startswith(_LEADER)):
        yield f"expected one key without {_LEADER}"
        return
    for key in keys:
        if is_captured(action, key):
            yield f"{key} is reserved; choose another key"
        elif key and not _is_key(key.removeprefix(_LEADER)):
            yield f"{key!r} is not a key; write it as in ctrl+x, f2 or {_LEADER}n"


def _shared_keys(
    action: str, binding: str, users: dict[tuple[str, str], str], defaults: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield a fault for each key that another action has: `users` by an earlier setting, `defaults` without one."""
    for key in _split(binding):
        if not key or key == "none" or action in _LISTED or is_captured(action, key):
            continue
        other = users.setdefault((key, _area(action)), action)
        if other != action and not _may_share(action, other):
            yield f"{key} is the key of {other} too; choose another key"
        elif key not in _split(DEFAULT_KEYS[action]):  # some actions share a key by default
            for owner, keys in defaults.items():
                if key in keys and owner not in _LISTED and not _may_share(action, owner):
                    yield f"{key} is the default key of {owner}; choose another key, or set keybinds.{owner}"


def _may_share(action: str, other: str) -> bool:
    """Return whether two actions may have one key: they work in different areas, or both move up or down in the prompt."""
    return _area(action) != _area(other) or (_area(action) == "prompt" and "history_" in f"{other} {action}")


def _area(action: str) -> str:
    """Return where an action works: in the prompt, in the focused conversation, or elsewhere."""
    areas = {"input": "prompt", "history": "prompt", "item": "focus"}
    return areas.get(action.partition("_")[0], "")


def _split(binding: str) -> list[str]:
    """Return the keys of a binding, in lower case; a comma may be a key itself."""
    return [key.strip().lower() for key in binding.split(",")]


def is_captured(action: str, key: str) -> bool:
    """Return whether an action would take a key away from sending, stopping, or plain typing."""
    return (key in _RESERVED and action not in _RESERVED[key]) or _is_typed(key, action)


def _is_typed(key: str, action: str) -> bool:
    is_letter = len(key.removeprefix("shift+")) == 1 or key in ("space", "backspace")
    return is_letter and key != "?" and not action.startswith(("input_", "item_"))


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if not key.endswith("+") else [*key[:-1].rstrip("+").split("+"), "plus"]
    is_function_key = name.startswith("f") and name[1:].isdigit() and 1 <= int(name[1:]) <= 24
    return all(one in _MODIFIERS for one in modifiers if one) and (
        len(name) == 1 or name in _KEY_NAMES or is_function_key
    )
