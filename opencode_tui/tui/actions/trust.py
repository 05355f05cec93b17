"""The action that trusts a folder after showing everything that it would start."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from opencode_tui.schema.api.trust import TrustItem, TrustReport
from opencode_tui.tui.dialogs.confirm import ConfirmPanel, Question
from opencode_tui.tui.keys.router import KeyAction
from opencode_tui.tui.screen_api import AppApi, ChatApi, PanelApi
from opencode_tui.tui.start import apply_settings
from opencode_tui.tui.state.controller import SessionController


class TrustActions(Struct, frozen=True):
    """Shows what needs trust and asks for confirmation."""

    screen: ChatApi
    app: AppApi
    panels: PanelApi
    control: SessionController

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {"trust_view": lambda: self.screen.do(self._ask())}

    async def _ask(self) -> None:
        report = await self.control.client.settings.trust_report()
        waiting = [one for one in report.items if one.verdict != "trusted"]
        if not waiting:
            self.screen.show_note("note", "Nothing needs your trust")
            return
        answers = (
            KeyAction("panel_yes", "trust", lambda: self.screen.do(self._trust(report))),
            KeyAction("panel_cancel", "don't trust", self.panels.close),
        )
        hint = "It can start programs as you. Changes must be trusted again."
        self.panels.open(ConfirmPanel(Question("Trust this folder?", lines_of(waiting), hint, answers)))

    async def _trust(self, report: TrustReport) -> None:
        self.panels.close()
        if self.control.folder.statuses:
            self.screen.show_note("note", "A session is running", "interrupt it first, then trust the folder")
            return
        await self.control.client.settings.trust(report.seen)
        await self.control.client.reopen()
        await apply_settings(self.screen, self.app, self.control)
        await self.control.load(self.screen.options)
        self.screen.show_conversation()
        self.screen.show_note("done", "Folder trusted")


def lines_of(items: Sequence[TrustItem]) -> list[str]:
    """Return what the files would start or relax, by file."""
    lines: list[str] = []
    for item in items:
        lines.append(item.name)
        lines += ["  changed since you trusted it"] if item.verdict == "changed" else []
        lines += [f"  {effect.removeprefix(f'{item.name}: ')}" for effect in item.effects]
    return lines
