"""Checks of key bindings: unknown actions and keys, reserved keys, and one key for two actions."""

from collections.abc import Container, Iterator, Mapping, Sequence

from opencode_tui.config.notice import Notice
from opencode_tui.config.sources.layer import Origins
from opencode_tui.schema.api.keybinds import BY_ID, DEFAULT_KEYS, LEADER, QUIT, TYPED_SCOPES
from opencode_tui.schema.suggest import suggest


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNSUPPORTED_ACTIONS = _names(
    """
    scrollbar_toggle username_toggle stash_delete
    messages_toggle_conceal model_cycle_favorite model_cycle_favorite_reverse tips_toggle
    """
)
"""OpenCode's actions for features that this program does not have."""

ACTIONS = frozenset(DEFAULT_KEYS) | UNSUPPORTED_ACTIONS
"""Actions that the settings may name."""

_SAME = {"return": "enter", "esc": "escape"}
_RESERVED = frozenset({"enter", "ctrl+c", "escape"})
"""Keys that the user relies on: only the actions that have them by default may have them. One that quits no more is free."""

_LED = ("app", "chat", "prompt", "item", "page", "list:sessions")
"""Scopes, each with its parts, whose keys may follow the leader key; in others it belongs to the chat."""

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
    users: dict[str, list[str]] = {}
    defaults = {action: _split(keys) for action, keys in DEFAULT_KEYS.items() if action not in keybinds}
    free = frozenset(_split(DEFAULT_KEYS[QUIT])) - frozenset(_split(keybinds.get(QUIT, DEFAULT_KEYS[QUIT])))
    for action, binding in keybinds.items():
        path = ("keybinds", action)
        if action not in ACTIONS:
            yield origins.notice(path, f"unknown action (ignored){suggest(action, ACTIONS)}")
            continue
        if action in UNSUPPORTED_ACTIONS:
            if binding.strip().lower() != "none":
                yield origins.notice(path, "not available here (ignored)")
            continue
        shared = _shared_keys(action, binding, users, defaults, free=free)
        for fault in (*_binding_faults(action, binding, free=free), *shared):
            yield origins.notice(path, fault)


def _binding_faults(action: str, binding: str, *, free: Container[str]) -> Iterator[str]:
    keys = _split(binding)
    if not any(keys):
        yield "no key; write none to switch it off"
    if keys == ["none"]:
        if action in BY_ID and BY_ID[action].needed:
            yield f"without a key you cannot {BY_ID[action].needed}; choose one"
        if action == "leader":
            yield f"without a leader key, no binding that starts with {LEADER} works; choose a key"
        return
    if action == "leader" and (len(keys) > 1 or keys[0].startswith(LEADER)):
        yield f"expected one key without {LEADER}"
        return
    for key in keys:
        if _is_captured(action, key, free):
            yield f"{key} is reserved; choose another key"
        elif key.startswith(LEADER) and action in BY_ID and not _is_in(BY_ID[action].scope, _LED):
            yield f"{key} never reaches this action; choose a key without {LEADER}"
        elif key and not _is_key(key.removeprefix(LEADER)):
            yield f"{key!r} is not a key; write it as in ctrl+x, f2 or {LEADER}n"


def _shared_keys(
    action: str,
    binding: str,
    users: dict[str, list[str]],
    defaults: Mapping[str, Sequence[str]],
    *,
    free: Container[str],
) -> Iterator[str]:
    """Yield a fault for each key that another action has: `users` by earlier settings, `defaults` without one."""
    for key in _split(binding):
        if not key or key == "none" or _is_listed(action) or _is_captured(action, key, free):
            continue
        other = next((other for other in users.get(key, ()) if not _may_share(action, other)), None)
        users.setdefault(key, []).append(action)
        if other is not None:
            yield f"{key} is the key of {other} too; choose another key"
        elif key not in _split(DEFAULT_KEYS[action]):  # some actions share a key by default
            for owner, keys in defaults.items():
                if key in keys and not _is_listed(owner) and not _may_share(action, owner):
                    yield f"{key} is the default key of {owner}; choose another key, or set keybinds.{owner}"


def _may_share(action: str, other: str) -> bool:
    """Return whether two actions may have one key: they are never available together, or both move in the prompt."""
    is_apart = _scope(other) not in _overlapping(action) and _scope(action) not in _overlapping(other)
    return is_apart or (_scope(action) == "prompt" and "history_" in f"{other} {action}")


def _overlapping(action: str) -> Sequence[str]:
    """Return the scope of an action, and the wider one that its keys work in before those of it."""
    scope = _scope(action)
    return (scope, scope.partition(":")[0])


def _scope(action: str) -> str:
    """Return where an action works; the app and the chat are one place."""
    scope = BY_ID[action].scope if action in BY_ID else "chat"
    return "chat" if scope == "app" else scope


def _is_in(scope: str, wider: Container[str]) -> bool:
    return scope in wider or scope.partition(":")[0] in wider


def _is_listed(action: str) -> bool:
    """Return whether an action has keys on a page of its own, where other actions may have the same keys."""
    return action in BY_ID and BY_ID[action].on_sessions != ""


def _split(binding: str) -> list[str]:
    """Return the keys of a binding, in lower case; a comma may be a key itself."""
    return [key.strip().lower() for key in binding.split(",")]


def _is_captured(action: str, key: str, free: Container[str]) -> bool:
    """Return whether an action would take a key away from sending, stopping, closing, or plain typing."""
    plain = _SAME.get(key, key)
    is_default = plain in {_SAME.get(one, one) for one in _split(DEFAULT_KEYS[action])}
    is_reserved = plain in _RESERVED and plain not in free
    return not is_default and (is_reserved or _is_typed(key, action))


def _is_typed(key: str, action: str) -> bool:
    is_letter = len(key.removeprefix("shift+")) == 1 or key in ("space", "backspace")
    return is_letter and key != "?" and (action not in BY_ID or _is_in(BY_ID[action].scope, TYPED_SCOPES))


def _is_key(key: str) -> bool:
    *modifiers, name = [key] if key == "+" else key.split("+")
    if not name and len(modifiers) > 1 and not modifiers[-1]:  # `ctrl++`, but not `ctrl+`
        name = "plus"
    is_function_key = name.startswith("f") and name[1:].isdigit() and 1 <= int(name[1:]) <= 24
    return all(one in _MODIFIERS for one in modifiers if one) and (
        len(name) == 1 or name in _KEY_NAMES or is_function_key
    )
