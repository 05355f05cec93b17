"""The action that trusts a folder after showing everything that it would start."""

from collections.abc import Callable, Mapping, Sequence

from opencode_tui.schema.api.trust import TrustItem, TrustReport
from opencode_tui.tui.dialogs.confirm import ConfirmPanel, Question
from opencode_tui.tui.dialogs.panel import PanelKey
from opencode_tui.tui.screen_api import AppApi, ChatApi, PanelApi
from opencode_tui.tui.start import apply_settings
from opencode_tui.tui.state.controller import SessionController


class TrustActions:
    """Shows what needs trust and asks for confirmation."""

    def __init__(self, screen: ChatApi, app: AppApi, panels: PanelApi, control: SessionController) -> None:
        self._screen = screen
        self._app = app
        self._panels = panels
        self._control = control

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {"trust_view": lambda: self._screen.do(self._ask())}

    async def _ask(self) -> None:
        report = await self._control.client.settings.trust_report()
        waiting = [one for one in report.items if one.verdict != "trusted"]
        if not waiting:
            self._screen.show_note("note", "Nothing needs your trust")
            return
        answers = (
            PanelKey("y", "trust", lambda: self._screen.do(self._trust(report))),
            PanelKey("escape", "don't trust", self._panels.close),
        )
        hint = "It can start programs as you. Changes must be trusted again."
        self._panels.open(ConfirmPanel(Question("Trust this folder?", lines_of(waiting), hint, answers)))

    async def _trust(self, report: TrustReport) -> None:
        self._panels.close()
        if self._control.folder.statuses:
            self._screen.show_note("note", "A session is running", "interrupt it first, then trust the folder")
            return
        await self._control.client.settings.trust(report.seen)
        await self._control.client.reopen()
        await apply_settings(self._screen, self._app, self._control)
        await self._control.load(self._screen.options)
        self._screen.show_conversation()
        self._screen.show_note("done", "Folder trusted")


def lines_of(items: Sequence[TrustItem]) -> list[str]:
    """Return what the files would start or relax, by file."""
    lines: list[str] = []
    for item in items:
        lines.append(item.name)
        lines += ["  changed since you trusted it"] if item.verdict == "changed" else []
        lines += [f"  {effect.removeprefix(f'{item.name}: ')}" for effect in item.effects]
    return lines
