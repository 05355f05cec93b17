"""The actions that share the shown session and take it back."""

from collections.abc import Callable, Coroutine, Mapping

from msgspec import Struct

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.share import GOES_THERE, STAYS_HERE, server_name
from opencode_tui.tui.dialogs.confirm import ConfirmPanel, Question
from opencode_tui.tui.keys.router import KeyAction
from opencode_tui.tui.screen_api import AppApi, ChatApi, PanelApi
from opencode_tui.tui.state.controller import SessionController


class ShareActions(Struct, frozen=True):
    """Asks before the first session goes to a server; the link of a shared session is copied."""

    screen: ChatApi
    app: AppApi
    panels: PanelApi
    control: SessionController
    export: Callable[[SessionInfo], object]

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "session_share": lambda: self._with_shown(self._begin),
            "session_unshare": lambda: self._with_shown(self._unshare),
        }

    def _export(self, info: SessionInfo) -> None:
        self.panels.close()
        self.export(info)

    async def _begin(self, info: SessionInfo) -> None:
        if info.share is not None:
            self._show_link("Shared", info)
            return
        status = await self.control.client.sharing.status()
        if status.obstacle is not None or status.server is None:
            words = (status.obstacle or "").capitalize()
            answers = (
                KeyAction("share_export", "export it instead", lambda: self._export(info)),
                KeyAction("panel_cancel", "close", self.panels.close),
            )
            self.panels.open(ConfirmPanel(Question("Sessions cannot be shared", [words], "", answers, "panel:share")))
        elif status.is_known:
            await self._share(info)
        else:
            name = server_name(status.server)
            answers = (
                KeyAction("panel_yes", "share", lambda: self.screen.do(self._share(info))),
                KeyAction("panel_cancel", "cancel", self.panels.close),
            )
            self.panels.open(
                ConfirmPanel(Question(f"Share this session to {name}?", [GOES_THERE], STAYS_HERE, answers))
            )

    async def _share(self, info: SessionInfo) -> None:
        self.panels.close()
        self.screen.show_note("note", "Sharing", "sending the conversation")
        shared = await self.control.client.sharing.share(info.id)
        self.control.replace(info.id, shared)
        self._show_link("Shared", shared)

    async def _unshare(self, info: SessionInfo) -> None:
        if info.share is None:
            self.screen.show_note("note", "Not shared", "/share publishes this session")
            return
        self.control.replace(info.id, await self.control.client.sharing.unshare(info.id))
        self.screen.show_note("done", "No longer shared", "the link shows nothing any more")

    def _show_link(self, words: str, info: SessionInfo) -> None:
        url = info.share.url if info.share else ""
        self.app.copy_to_clipboard(url)
        self.screen.show_note("done", words, f"link copied: {url}")

    def _with_shown(self, act: Callable[[SessionInfo], Coroutine[object, object, None]]) -> None:
        if self.control.facts is None:
            self.screen.show_note("note", "No session yet", "send a message to start one")
        else:
            self.screen.do(act(self.control.facts.info))
