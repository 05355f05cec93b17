"""Actions that scroll the conversation or change what it shows."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial

from opencode_tui.schema.api.keybinds import ACTIONS
from opencode_tui.tui.chat.chat import Chat, action


def _first(chat: Chat) -> Coroutine[object, object, None] | None:
    if not chat.control.is_whole:
        return _with_all(chat, chat.view.action_scroll_home)
    chat.view.action_scroll_home()
    return None


async def _with_all(chat: Chat, act: Callable[[], object]) -> None:
    """Act on the conversation once its older messages are read, too."""
    await chat.load_whole()
    act()


def _step(chat: Chat, step: int) -> Coroutine[object, object, None] | None:
    """Go to the prompt after or before the last visited one."""
    users = [item.id for item in chat.view.transcript.items if item.kind == "user"]
    here = users.index(chat.visited) if chat.visited in users else len(users)
    if here + step < 0 and not chat.control.is_whole:
        return _with_all(chat, partial(_step, chat, step))
    if not users:
        return None
    chat.visited = users[min(max(0, here + step), len(users) - 1)]
    chat.view.scroll_to_item(chat.visited)
    return None


def _last_user(chat: Chat) -> None:
    last = chat.view.transcript.last_user
    if last is not None:
        chat.view.scroll_to_item(last.id)


_IN_VIEW: Mapping[str, Callable[[Chat], object]] = {
    "messages_page_up": lambda chat: chat.view.action_page_up(),
    "messages_page_down": lambda chat: chat.view.action_page_down(),
    "messages_half_page_up": lambda chat: chat.view.scroll_lines(-(chat.view.size.height // 2)),
    "messages_half_page_down": lambda chat: chat.view.scroll_lines(chat.view.size.height // 2),
    "messages_line_up": lambda chat: chat.view.scroll_lines(-1),
    "messages_line_down": lambda chat: chat.view.scroll_lines(1),
    "messages_first": _first,
    "messages_last": lambda chat: chat.view.action_scroll_end(),
    "messages_next": lambda chat: _step(chat, 1),
    "messages_previous": lambda chat: _step(chat, -1),
    "messages_last_user": _last_user,
    "messages_focus": lambda chat: chat.view.focus_at_once(),
}
for _id, _act in _IN_VIEW.items():
    action(_id, in_view=True)(_act)


def _act_on_item(action_id: str, chat: Chat) -> None:
    if action_id == "item_leave":
        chat.panels.focus(is_back=True)  # at once: the next key is for the prompt
    else:
        chat.view.run(action_id)


for _row in ACTIONS:
    if _row.scope == "item":
        action(_row.id, in_view=True)(partial(_act_on_item, _row.id))


@action("messages_find", with_words=True, in_view=True)
def find(chat: Chat, words: str = "") -> None:
    """Ask for a text and show where it occurs; at once if it is known."""
    chat.find(words)


@action("display_thinking")
def switch_thinking(chat: Chat) -> None:
    """Open or fold the reasoning."""
    _switch(chat, "thought", "Reasoning shown", "Reasoning hidden")


@action("tool_details")
def switch_tools(chat: Chat) -> None:
    """Open or fold the output of tools."""
    _switch(chat, "tool", "Tool output expanded", "Tool output collapsed")


def _switch(chat: Chat, kind: str, on: str, off: str) -> None:
    chat.show_note("note", on if chat.view.switch_details(kind) else off)


@action("terminal_title_toggle")
def switch_title(chat: Chat) -> None:
    """Show or hide the session in the title of the terminal."""
    title = chat.app.title_line
    title.switch()
    chat.show_note("note", "Terminal title on" if title.is_on else "Terminal title off")


@action("vim_toggle")
def switch_vim(chat: Chat) -> None:
    """Edit the prompt with the keys of vim, or without them."""
    prompt = chat.prompt
    prompt.use_vim(is_on=prompt.vim is None)
    is_on = prompt.vim is not None
    chat.refresh_chrome()
    chat.do(chat.save_setting({"tui": {"vim": is_on}}, "vim mode on" if is_on else "vim mode off"))
