"""The functions of the chat's actions by ID: each registers itself where it is defined."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from opencode_tui.schema.api.keybinds import BY_ID, Action
from opencode_tui.tui.chat.chat import Chat

Act = TypeVar("Act", bound=Callable[..., object])

_ACTS: dict[str, Callable[[Chat], object]] = {}
_WITH_WORDS: dict[str, Callable[[Chat, str], object]] = {}
_IN_VIEW: set[str] = set()
_NEEDED: dict[str, Callable[[Chat], object]] = {}
"""Whether there is now what an action is about."""
_LOADS: dict[str, str] = {}
"""What the actions that show something else load, in words."""


def action(
    action_id: str,
    *,
    with_words: bool = False,
    in_view: bool = False,
    loads: str = "",
    when: Callable[[Chat], object] | None = None,
) -> Callable[[Act], Act]:
    """Return a decorator that makes a function of the chat the action with this ID; a coroutine runs in the background.

    `with_words`: its second argument gets the words after the name of its slash command. `in_view`: it needs a
    conversation. `loads` says what a coroutine loads before it shows a page: keys typed meanwhile are for that page.
    Lists leave the action out unless `when` is true; its key says why it does nothing then. Raises KeyError without a row
    in the table of actions.
    """
    row = BY_ID[action_id]

    def register(act: Act) -> Act:
        _ACTS[row.id] = act
        if with_words:
            _WITH_WORDS[row.id] = act
        if in_view:
            _IN_VIEW.add(row.id)
        if loads:
            _LOADS[row.id] = loads
        if when is not None:
            _NEEDED[row.id] = when
        return act

    return register


def knows(action_id: str) -> bool:
    """Return whether the action is one of the chat."""
    return action_id in _ACTS


def can(chat: Chat, row: Action) -> bool:
    """Return whether the action is one of the chat and available now."""
    if row.id in _IN_VIEW and not chat.view.display:
        return False
    return row.id in _ACTS and (row.scope != "item" or chat.screen.focused is chat.view)


def is_useful(chat: Chat, row: Action) -> bool:
    """Return whether there is now what the action is about, so that lists show it."""
    return row.id not in _NEEDED or bool(_NEEDED[row.id](chat))


def run(chat: Chat, action_id: str) -> None:
    """Run the action."""
    _begin(chat, _ACTS[action_id](chat), _LOADS.get(action_id, ""))


def run_with(chat: Chat, action_id: str, words: str) -> bool:
    """Run the action with the words after the name of its slash command; return False if it uses none."""
    act = _WITH_WORDS.get(action_id)
    if act is not None:
        _begin(chat, act(chat, words), _LOADS.get(action_id, ""))
    return act is not None


def _begin(chat: Chat, result: object, loads: str = "") -> None:
    if isinstance(result, Coroutine):
        work = cast("Coroutine[Any, Any, None]", result)
        if loads:
            chat.load_page(f"Loading {loads}", work)
        else:
            chat.do(work)
