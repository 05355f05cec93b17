"""All actions of the chat: the import of their modules registers them."""

from opencode_tui.tui.actions import (
    check,
    export,
    facts,
    lists,
    login,
    memory,
    pages,
    permissions,
    pick,
    prompt,
    registry,
    review,
    run,
    search,
    session,
    session_lists,
    settings,
    share,
    side_question,
    trust,
    undo,
    view,
)
from opencode_tui.tui.actions.remote import do_request
from opencode_tui.tui.chat.chat import ChatActions

MODULES = (
    *(check, export, facts, lists, login, memory, pages, permissions, pick, prompt),
    *(review, run, search, session, session_lists, settings, share, side_question, trust, undo, view),
)

ACTIONS = ChatActions(can=registry.can, run=registry.run, requested=do_request, show=session.show_anywhere)
