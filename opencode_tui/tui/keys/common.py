"""Actions that many pages, lists and questions have, each with its own words for them."""

from collections.abc import Callable, Mapping

from textual import events

from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.keys.router import KeyAction

_CLOSE = "page_close"

CANCEL = "panel_cancel"
"""The answer to a question that does nothing but close it."""


def by_id(*actions: KeyAction) -> Mapping[str, Callable[[], object]]:
    """Return what the actions do, by their IDs."""
    return {one.id: one.act for one in actions}


def opens(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the action that opens the selected row of a page."""
    return KeyAction("page_open", words, act)


def closes(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the action that closes a page."""
    return KeyAction(_CLOSE, words, act)


def closes_page(keymap: Keymap, event: events.Key) -> bool:
    """Return whether a key that is no text closes pages."""
    return not event.is_printable and any(one.id == _CLOSE for one in keymap.actions(event.key, ("page",)))


def close_key(keymap: Keymap) -> str:
    """Return the key that closes pages, as it is shown."""
    return keymap.first(_CLOSE)


def chooses(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the action that chooses the selected row of a list with a filter."""
    return KeyAction("list_choose", words, act)


def leaves(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the action that closes a list with a filter."""
    return KeyAction("list_close", words, act)


def filters(*, erase: Callable[[], object], clear: Callable[[], object]) -> Mapping[str, Callable[[], object]]:
    """Return the actions that delete the last character of a filter, and all of it."""
    return {"list_erase": erase, "list_clear": clear}


def edits(text: str, use: Callable[[str], object]) -> Mapping[str, Callable[[], object]]:
    """Return the actions that delete the last character of a typed text, its last word, and all of it; `use` gets the rest."""
    return {
        **filters(erase=lambda: use(text[:-1]), clear=lambda: use("")),
        "list_erase_word": lambda: use(text.rstrip().rpartition(" ")[0]),
    }


def confirms(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the answer yes to a question."""
    return KeyAction("panel_yes", words, act)


def cancels(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the answer that closes a question and does nothing else."""
    return KeyAction(CANCEL, words, act)


def dismisses(words: str, act: Callable[[], object]) -> tuple[KeyAction, KeyAction]:
    """Return the two answers to a message, which both close it; only the first one is shown."""
    return KeyAction("notice_close", words, act), cancels("", act)
