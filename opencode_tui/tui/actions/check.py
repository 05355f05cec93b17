"""Actions of the session's check: a command that runs after each turn until it passes."""

from opencode_tui.schema.api.until import RunCheck, SetCheck
from opencode_tui.schema.error import RunAborted
from opencode_tui.schema.session.session import UNTIL_KEY
from opencode_tui.schema.session.until import until_of
from opencode_tui.tui.chat.chat import Chat, action

OFF = "off"
"""The word that removes the check."""


def _has_check(chat: Chat) -> bool:
    facts = chat.control.facts
    return facts is not None and UNTIL_KEY in (facts.info.metadata or {})


@action("check_set", with_words=True)
async def set_check(chat: Chat, command: str = "") -> None:
    """Set the check, and run it now unless a turn is at work, after which it runs; `off` removes it."""
    if not command:
        chat.prompt.editor.put("/until ")
        chat.show_note("note", "Type the command after /until", "the model works until it passes; off removes it")
        return
    client, facts = chat.control.client, chat.control.facts
    if command == OFF:
        if facts is None or not _has_check(chat):
            chat.show_note("note", "No check is set")
            return
        await client.prompts.remove_check(facts.info.id)
        chat.show_note("note", "The check is off")
        return
    session = await chat.control.session()
    is_busy = chat.control.is_busy
    await client.prompts.set_check(session.id, SetCheck(command=command))
    if not is_busy:
        await _run(chat, goes_on=True)


@action("check_run", when=_has_check)
async def run_again(chat: Chat) -> None:
    """Run the check without the model."""
    await _run(chat, goes_on=False)


@action("check_send", when=_has_check)
async def send_failures(chat: Chat) -> None:
    """Run the check, and let the model work until it passes."""
    await _run(chat, goes_on=True)


async def _run(chat: Chat, *, goes_on: bool) -> None:
    control = chat.control
    if control.facts is None or until_of(await control.client.sessions.get(control.facts.info.id)) is None:
        chat.show_note("note", "No check is set", "/until COMMAND sets one")
        return
    if control.is_busy:
        chat.show_note("note", "The check runs after this turn")
        return
    choice = control.choice
    wish = RunCheck(goes_on=goes_on, agent=control.agent, model=choice.model, variant=choice.variant)
    interrupts = chat.sender.interrupts
    try:
        await control.client.prompts.run_check(control.facts.info.id, wish)
    except RunAborted:
        if chat.sender.interrupts == interrupts:
            raise
