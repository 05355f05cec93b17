"""The functions of the chat's actions by ID: each registers itself where it is defined."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from opencode_tui.schema.api.keybinds import BY_ID, Action
from opencode_tui.tui.chat.chat import Chat

Act = TypeVar("Act", bound=Callable[..., object])

_ACTS: dict[str, Callable[[Chat], object]] = {}
_WITH_WORDS: dict[str, Callable[[Chat, str], object]] = {}
_IN_VIEW: set[str] = set()


def action(action_id: str, *, with_words: bool = False, in_view: bool = False) -> Callable[[Act], Act]:
    """Return a decorator that makes a function of the chat the action with this ID; a coroutine runs in the background.

    `with_words`: its second argument gets the words after the name of its slash command. `in_view`: it needs a
    conversation. Raises KeyError without a row in the table of actions.
    """
    row = BY_ID[action_id]

    def register(act: Act) -> Act:
        _ACTS[row.id] = act
        if with_words:
            _WITH_WORDS[row.id] = act
        if in_view:
            _IN_VIEW.add(row.id)
        return act

    return register


def knows(action_id: str) -> bool:
    """Return whether the action is one of the chat."""
    return action_id in _ACTS


def can(chat: Chat, row: Action) -> bool:
    """Return whether the action is one of the chat and available now."""
    if row.id in _IN_VIEW and not chat.view.display:
        return False
    return row.id in _ACTS and (row.scope != "item" or chat.view.has_focus)


def run(chat: Chat, action_id: str) -> None:
    """Run the action."""
    _begin(chat, _ACTS[action_id](chat))


def run_with(chat: Chat, action_id: str, words: str) -> bool:
    """Run the action with the words after the name of its slash command; return False if it uses none."""
    act = _WITH_WORDS.get(action_id)
    if act is not None:
        _begin(chat, act(chat, words))
    return act is not None


def _begin(chat: Chat, result: object) -> None:
    if isinstance(result, Coroutine):
        chat.do(cast("Coroutine[Any, Any, None]", result))
