"""The key map: which keys run the actions of a scope, by default or by the settings."""

from collections.abc import Iterator, Mapping, Sequence

from opencode_tui.schema.api.keybinds import ACTIONS, BY_ID, LEADER, LEADER_KEY, NONE, SESSIONS_PAGE, Action

_OURS = {"return": "enter", "esc": "escape", "del": "delete", "option": "alt", "meta": "alt", "space": "space"}
_ORDER = ("ctrl", "alt", "super", "shift")
_SIGNS = {
    "-": "minus", ".": "full_stop", "?": "question_mark", "/": "slash", "!": "exclamation_mark", "+": "plus", "=": "equals_sign",
    ",": "comma", ";": "semicolon", "[": "left_square_bracket", "]": "right_square_bracket", "\\": "backslash", "_": "underscore",
}  # fmt: skip
_ALIKE = {
    "ctrl+underscore": "ctrl+minus",
    "ctrl+@": "ctrl+space",
    "ctrl+m": "enter",
    "ctrl+i": "tab",
    "ctrl+h": "backspace",
    "newline": "ctrl+j",
}
"""Keys as some terminals send them, and the key whose bindings they share."""


_FIXED = frozenset({"escape", "enter", "up", "down", "backspace", "space", "tab"})
"""Keys of the sessions page that an action of the chat does not get there."""


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
        self.leader = parse_key(given.get("leader", LEADER_KEY))
        self._actions: dict[str, dict[str, list[Action]]] = {}
        """Actions by scope and key; keys after the leader key start with `LEADER`."""
        self._keys: dict[tuple[str, str], list[str]] = {}
        """Keys by action and scope."""
        for action in ACTIONS:
            self._bind(action, action.scope, _split(given.get(action.id, action.keys)))
        for action in ACTIONS:  # last, as the actions of the page itself come first
            if action.on_sessions:
                own = [] if action.id in given else _split(action.on_sessions)
                free = [key for key in self._keys[action.id, action.scope] if not _is_fixed(key)]
                self._bind(action, SESSIONS_PAGE, [*own, *free])

    def _bind(self, action: Action, scope: str, keys: list[str]) -> None:
        self._keys[action.id, scope] = keys
        for key in keys:
            self._actions.setdefault(scope, {}).setdefault(key, []).append(action)

    def actions(self, key: str, scopes: Sequence[str], *, after_leader: bool = False) -> list[Action]:
        """Return the actions of a key, or of one after the leader key, in the order of the scopes and of the table."""
        name = f"{LEADER}{normal(key)}" if after_leader else normal(key)
        return [action for scope in scopes for action in self._actions.get(scope, {}).get(name, ())]

    def is_leader(self, key: str, scopes: Sequence[str]) -> bool:
        """Return whether the key starts a sequence in one of the scopes."""
        return normal(key) == self.leader and any(True for _ in self._after_leader(scopes))

    def leader_keys(self, scopes: Sequence[str]) -> Sequence[tuple[str, Action]]:
        """Return the keys after the leader in readable form, each with its first action: characters first, in their order."""
        first: dict[str, Action] = {}
        order = {action.id: at for at, action in enumerate(ACTIONS)}
        for key, action in sorted(self._after_leader(scopes), key=lambda one: order[one[1].id]):
            first.setdefault(key, action)
        found = [(shown(key.removeprefix(LEADER), self.leader), action) for key, action in first.items()]
        return sorted(found, key=lambda one: (len(one[0]) > 1, not one[0].isalnum(), one[0]))

    def _after_leader(self, scopes: Sequence[str]) -> Iterator[tuple[str, Action]]:
        for scope in scopes:
            for key, actions in self._actions.get(scope, {}).items():
                if key.startswith(LEADER):
                    yield from ((key, action) for action in actions)

    def keys(self, action_id: str, scope: str = "") -> Sequence[str]:
        """Return the keys of an action in readable form, in its own scope or in another one."""
        scope = scope if (action_id, scope) in self._keys else BY_ID[action_id].scope
        return [shown(key, self.leader) for key in self._keys[action_id, scope]]

    def first(self, action_id: str, scope: str = "") -> str:
        """Return the key to show in a hint; empty when the action has none."""
        return next(iter(self.keys(action_id, scope)), "")

    def is_first(self, action_id: str, key: str) -> bool:
        """Return whether a key, as the terminal reported it, is the first of an action's keys that need no leader key."""
        own = (one for one in self._keys[action_id, BY_ID[action_id].scope] if not one.startswith(LEADER))
        return normal(key) == next(own, None)


def _split(keys: str) -> list[str]:
    """Return the keys of a binding in normal form; those after the leader key start with `LEADER`."""
    found: list[str] = []
    for key in map(str.strip, keys.split(",")):
        if key and key.lower() != NONE:
            is_after_leader = key.lower().startswith(LEADER)
            found.append(f"{LEADER}{parse_key(key[len(LEADER) :])}" if is_after_leader else parse_key(key))
    return found


def _is_fixed(key: str) -> bool:
    """Return whether a key belongs to the sessions page itself: it moves there, or is a character of the filter."""
    return len(key) == 1 or key in _SIGNS.values() or key in _FIXED


def shown(key: str, leader: str) -> str:
    """Return a key in readable form: `ctrl+x c` for one after the leader, `esc` and `del` as on the keyboard."""
    if key.startswith(LEADER):
        return f"{shown(leader, leader)} {shown(key[len(LEADER) :], leader)}"
    *modifiers, name = key.split("+")
    back = {sign: text for text, sign in _SIGNS.items()}
    short = {"escape": "esc", "delete": "del", "pageup": "pgup", "pagedown": "pgdn"}
    return "+".join([*modifiers, short.get(name, back.get(name, name))])
