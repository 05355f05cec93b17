"""The action that trusts a folder after showing everything that it would start."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.chat.start import reopen_folder
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.keys.keyed import cancels, confirms

if TYPE_CHECKING:
    from opencode_tui.schema.api.trust import TrustItem, TrustReport


@action("trust_view")
async def view_trust(chat: Chat) -> None:
    """Show what needs trust and ask for confirmation."""
    report = await chat.control.client.settings.trust_report()
    waiting = [one for one in report.items if one.verdict != "trusted"]
    if not waiting:
        chat.show_note("note", "Nothing needs your trust")
        return
    answers = (
        confirms("trust", lambda: chat.do(_trust(chat, report))),
        cancels("don't trust", chat.panels.close),
    )
    hint = "It can start programs as you. Changes must be trusted again."
    chat.panels.open(ConfirmPanel(Confirmation("Trust this folder?", lines_of(waiting), hint, answers)))


async def _trust(chat: Chat, report: "TrustReport") -> None:
    chat.panels.close()
    if chat.control.folder.statuses:
        chat.show_note("note", "A session is running", "interrupt it first, then trust the folder")
        return
    await chat.control.client.settings.trust(report.seen)
    await reopen_folder(chat)
    chat.show_note("done", "Folder trusted")


def lines_of(items: Sequence["TrustItem"]) -> list[str]:
    """Return what the files would start or relax, by file."""
    lines: list[str] = []
    for item in items:
        lines.append(item.name)
        lines += ["  changed since you trusted it"] if item.verdict == "changed" else []
        lines += [f"  {effect.removeprefix(f'{item.name}: ')}" for effect in item.effects]
    return lines
