"""The actions that share the shown session and take it back."""

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.share import GOES_THERE, STAYS_HERE, server_name
from opencode_tui.tui.actions.export import export
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.keys.keyed import KeyAction, cancels, confirms


def _export(chat: Chat, info: SessionInfo) -> None:
    chat.panels.close()
    export(chat, info.id)


@action("session_share")
async def share_shown(chat: Chat) -> None:
    """Share the shown session; its link is copied. Ask before the first session goes to a server."""
    info = chat.shown_session()
    if info is None:
        return
    if info.share is not None:
        _show_link(chat, "Shared", info)
        return
    status = await chat.control.client.sharing.status()
    if status.obstacle is not None or status.server is None:
        words = (status.obstacle or "").capitalize()
        answers = (
            KeyAction("share_export", "export it instead", lambda: _export(chat, info)),
            cancels("close", chat.panels.close),
        )
        chat.panels.open(ConfirmPanel(Confirmation("Sessions cannot be shared", [words], "", answers, "panel:share")))
    elif status.is_known:
        await _share(chat, info)
    else:
        name = server_name(status.server)
        answers = (
            confirms("share", lambda: chat.do(_share(chat, info))),
            cancels("cancel", chat.panels.close),
        )
        chat.panels.open(
            ConfirmPanel(Confirmation(f"Share this session to {name}?", [GOES_THERE], STAYS_HERE, answers))
        )


async def _share(chat: Chat, info: SessionInfo) -> None:
    chat.panels.close()
    chat.show_note("note", "Sharing", "sending the conversation")
    shared = await chat.control.client.sharing.share(info.id)
    chat.sessions.replace(info.id, shared)
    _show_link(chat, "Shared", shared)


@action("session_unshare", when=lambda chat: chat.control.facts is not None and chat.control.facts.info.share)
async def unshare_shown(chat: Chat) -> None:
    """Stop sharing the shown session."""
    info = chat.shown_session()
    if info is None:
        return
    if info.share is None:
        chat.show_note("note", "Not shared", "/share publishes this session")
        return
    chat.sessions.replace(info.id, await chat.control.client.sharing.unshare(info.id))
    chat.show_note("done", "No longer shared", "the link shows nothing any more")


def _show_link(chat: Chat, words: str, info: SessionInfo) -> None:
    url = info.share.url if info.share else ""
    chat.app.copy_to_clipboard(url)
    chat.show_note("done", words, f"link copied: {url}")
