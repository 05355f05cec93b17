"""Actions that interrupt a run or quit; both need a second press of the same key, or a confirmation."""

import asyncio
from collections.abc import Sequence

from opencode_tui.client.logout import ends_at_logout
from opencode_tui.instant.job import has_shell
from opencode_tui.schema.api.keybinds import QUIT
from opencode_tui.text.quantity import plural
from opencode_tui.text.wait import SAID_AFTER_S
from opencode_tui.tui.actions.prompt import put_back_queued, queued_ids
from opencode_tui.tui.chat.chat import Chat, FirstPress, action
from opencode_tui.tui.chrome.activity import Activity
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.keys.keyed import KeyAction, cancels, confirms
from opencode_tui.tui.keys.keymap import shown

ARMED_MS = 5_000
"""Milliseconds within which a second press interrupts or quits."""

LISTED_COMMANDS = 6
"""Most background commands that the question lists one by one."""

STOPS_TURN = "The current turn will be stopped. Completed work is kept; resume the session any time."
ENDS_COMMANDS = "Background commands end with the program; their changes of files are recorded."
GOES_ON = "In the background all goes on and questions wait for you: `opencode-tui -c` returns."
GOES_ON_ELSEWHERE = "what runs goes on without this terminal"
STOP_KEEPS = "Stopping ends what runs; completed work is kept."


@action("session_interrupt", when=lambda chat: chat.control.is_busy)
def interrupt(chat: Chat) -> None:
    """Interrupt the run on the second press; without a run, stop what is being sent, or open the timeline on the second press."""
    if not chat.control.is_busy:
        if not chat.sender.cancel_unsent(SAID_AFTER_S):
            chat.clear_note()
            _rewind(chat)
    elif _is_second(chat, "interrupt"):
        chat.do(_abort(chat))
    else:
        hint = Activity(key=_pressed(chat, "session_interrupt"), act="again to interrupt")
        _arm(chat, "interrupt", chat.app.last_key, hint)


def _rewind(chat: Chat) -> None:
    """Open the timeline on the second press with an empty prompt: from there one undoes or forks from any turn."""
    if chat.control.facts is None or chat.prompt.editor.text:
        return
    if _is_second(chat, "rewind"):
        chat.end_first_press()
        chat.run("session_timeline")
    else:
        key = chat.app.keymap.first("session_interrupt")
        hint = Activity(key=key, act="again to rewind", action_id="session_timeline")
        _arm(chat, "rewind", chat.app.last_key, hint)


async def _abort(chat: Chat) -> None:
    """Interrupt the run and move messages that it has not read back into the prompt, whichever way they were sent."""
    chat.end_first_press()
    queued = queued_ids(chat)
    await chat.sender.interrupt()
    for message_id in reversed(dict.fromkeys([*queued, *chat.control.waiting.ids])):
        await put_back_queued(chat, message_id)


@action(QUIT)
def press_quit(chat: Chat) -> None:
    """Quit; the first key that does so interrupts a run before, and keys that edit the prompt too need a second press."""
    key, keymap = chat.app.last_key, chat.app.keymap
    if chat.control.is_busy and keymap.is_first(QUIT, key):
        interrupt(chat)
    elif not keymap.actions(key, ("prompt",)) or _is_second(chat, "quit"):
        chat.end_first_press()
        quit(chat)
    else:
        press_quit_first(chat, key)


def press_quit_first(chat: Chat, key: str) -> None:
    """Quit at the next press of this key."""
    _arm(chat, "quit", key, Activity(key=key, act="again to quit", action_id=QUIT))


def quit(chat: Chat) -> None:
    """Quit; ask first while runs or background commands are active that would end with this process."""
    control = chat.control
    busy, commands = chat.working
    is_working = bool(busy or commands) or chat.sender.is_waiting  # the engine may have it before its status is here
    if not is_working:
        chat.leave()
        return
    if not control.client.ends_runs:
        chat.leave(messages=[GOES_ON_ELSEWHERE])
        return
    is_busy = bool(busy) or not commands
    about = [f"  {control.folder.sessions[one].title}" for one in busy]
    about += [f"  {one.id}  {one.command.strip().splitlines()[0]}" for one in commands[:LISTED_COMMANDS]]
    if len(commands) > LISTED_COMMANDS:
        about.append(f"  and {len(commands) - LISTED_COMMANDS} more")
    others = control.client.terminals
    if control.client.can_detach:
        about += [f"{plural(others, 'other terminal')} will go on, after a stop with another engine"] if others else []
        chat.do(_ask_whether_to_stay(chat, about, is_busy=is_busy))
        return
    if others:
        about.append(f"{plural(others, 'other terminal')} will go on with another engine")
    sentences = [STOPS_TURN] if is_busy else []
    sentences += [ENDS_COMMANDS] if commands else []
    ends = "stop and quit" if is_busy else "end it and quit" if len(commands) == 1 else "end them and quit"
    chat.panels.open(
        ConfirmPanel(
            Confirmation(
                "Quit while the agent is running?" if is_busy else "Quit while background commands are running?",
                about,
                " ".join(sentences),
                (
                    confirms(ends, lambda: chat.do(_end_and_leave(chat))),
                    cancels("stay", chat.panels.close),
                ),
            )
        )
    )


async def _ask_whether_to_stay(chat: Chat, about: Sequence[str], *, is_busy: bool) -> None:
    """Ask whether to leave what runs in the background, to stop it, or to stay."""
    remedy = await asyncio.to_thread(ends_at_logout)
    warning = f"This system ends it when you log out; {remedy} prevents that." if remedy else ""
    answers = (
        KeyAction("quit_background", "keep working in the background", lambda: chat.do(chat.detach())),
        KeyAction("quit_stop", "stop and quit", lambda: chat.do(_end_and_leave(chat))),
        cancels("stay", chat.panels.close),
    )
    title = "Quit while the agent is running?" if is_busy else "Quit while background commands are running?"
    sentence = " ".join(filter(None, (GOES_ON, STOP_KEEPS, warning)))
    chat.panels.open(ConfirmPanel(Confirmation(title, about, sentence, answers, "panel:quit")))


@action("app_background")
def leave_working(chat: Chat) -> None:
    """Quit; what runs goes on in the background."""
    client = chat.control.client
    if not chat.is_working:
        chat.show_note("note", "Nothing runs that could go on in the background")
    elif not client.ends_runs:
        chat.leave(messages=[GOES_ON_ELSEWHERE])  # the engine is in another process
    elif client.can_detach:
        chat.do(chat.detach())
    else:
        chat.show_note("note", "Not available here", "nothing could reach the engine without this terminal")


async def _end_and_leave(chat: Chat) -> None:
    for session_id in list(chat.control.folder.statuses):
        await chat.control.client.prompts.abort(session_id)
    ended = await chat.control.client.background.end()
    chat.leave(messages=[line for one in ended if (line := one.format_undone())])


@action("terminal_suspend")
def suspend(chat: Chat) -> None:
    """Suspend the program to the shell."""
    if not has_shell():  # nothing could continue it
        chat.show_note("note", "Suspend needs a shell to return to", "this terminal has none")
        return
    chat.app.action_suspend_process()


def _pressed(chat: Chat, action_id: str) -> str:
    """Return the key to press again: the one that was pressed, in readable form, else the action's first one."""
    return shown(chat.app.last_key, "") if chat.app.last_key else chat.app.keymap.first(action_id)


def _is_second(chat: Chat, what: str) -> bool:
    """Return whether this is the second press."""
    return chat.first_press.action == what and chat.control.now() < chat.first_press.until


def _arm(chat: Chat, what: str, key: str, hint: Activity) -> None:
    """Record a first press and show what a second one does, until its time is over or another first press follows."""
    first = chat.first_press = FirstPress(what, key, chat.control.now() + ARMED_MS)
    chat.show_at_right(hint)
    chat.screen.set_timer(ARMED_MS / 1000, lambda: chat.end_first_press() if chat.first_press is first else None)
