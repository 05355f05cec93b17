"""Undo and redo, each with a preview in the chat and in a panel."""

from collections.abc import Callable, Mapping

from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoFiles, UndoOnly, UndoScope
from opencode_tui.text.undo import unchanged_files
from opencode_tui.tui.dialogs.undo import UndoPanel
from opencode_tui.tui.screen_api import ChatApi, PanelApi
from opencode_tui.tui.state.controller import SessionController


class UndoActions:
    """Undo of the shown session."""

    def __init__(self, screen: ChatApi, panels: PanelApi, control: SessionController) -> None:
        self._screen = screen
        self._panels = panels
        self._control = control
        self._restored_text = ""
        """The prompt text that the last undo restored."""

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "messages_undo": lambda: self._screen.do(self.ask()),
            "messages_redo": lambda: self._screen.do(self._ask_redo()),
        }

    async def ask(self, message_id: str | None = None, part_id: str | None = None) -> None:
        """Show what an undo from a message or part on would do; of the last turn by default."""
        session_id = self._control.session_id
        if session_id is None:
            return
        if self._control.is_busy:  # end the run first; its changes are undone with the rest
            await self._control.interrupt()
        preview = await self._control.client.undo.preview(session_id, message_id, part_id)
        assert preview.scope is not None
        transcript = self._control.transcript
        transcript.preview_undo(preview.scope.message_id, preview.scope.part_id)
        self._screen.show_cut()
        self._panels.open(
            UndoPanel(
                preview,
                root=self._control.client.directory,
                span=self._span(preview),
                show=self._diff_opener(session_id, preview),
                act=lambda: self._screen.do(self._undo(session_id, preview)),
                back=self._cancel,
                limited=lambda only: self._screen.do(self._undo(session_id, preview, only)),
            )
        )

    def _diff_opener(self, session_id: str, preview: RevertPreview) -> Callable[[], object] | None:
        """Return what opens the changes of the turns to undo; None where undo is off."""
        scope = preview.scope
        if scope is None or preview.unavailable:
            return None
        return lambda: self._screen.do(self._show_diff(session_id, scope))

    async def _show_diff(self, session_id: str, scope: UndoScope) -> None:
        from opencode_tui.tui.screens.diff import TURN, DiffScreen  # loads on demand

        diffs = await self._control.client.undo.changes(session_id, scope.message_id, scope.part_id)
        sides = TURN if scope.requests == 1 and not scope.part_id else ("before", "after")
        if diffs:
            places = self._control.client.project.places
            self._screen.open_page(DiffScreen(diffs, places, is_stacked=self._control.is_stacked, sides=sides))
        else:
            self._screen.show_note("note", "No file changes", "in what is undone")

    def _cancel(self) -> None:
        self._panels.close()
        self._control.transcript.end_preview()

    async def _undo(self, session_id: str, preview: RevertPreview, only: UndoOnly | None = None) -> None:
        self._panels.close()
        scope = preview.scope
        assert scope is not None
        text = "" if only == "files" else await self._request_text(session_id, scope.message_id)
        try:
            report = await self._control.client.undo.revert(session_id, scope.message_id, scope.part_id, only=only)
        finally:
            self._control.transcript.end_preview()
        self.show_files(report)
        editor = self._screen.prompt.editor
        if text and not scope.part_id and not editor.text.strip():
            editor.put(text)
            self._restored_text = editor.text
        if report.failed:
            self._screen.show_note("failed", "Some files could not be restored", "undo again to retry")

    def show_files(self, report: UndoFiles) -> None:
        """Show in the chat what happened to the files."""
        scope = getattr(report, "scope", None)
        if scope is not None:
            self._control.show_undone(scope.message_id, report)

    async def _request_text(self, session_id: str, message_id: str) -> str:
        message = await self._control.client.messages.get(session_id, message_id)
        if message.info.role != "user":
            return ""
        return "\n".join(part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic)

    async def _ask_redo(self) -> None:
        session_id = self._control.session_id
        if session_id is None:
            return
        preview = await self._control.client.undo.preview_unrevert(session_id)
        if preview.kept or preview.unprotected:
            self._panels.open(
                UndoPanel(
                    preview,
                    root=self._control.client.directory,
                    span="",
                    act=lambda: self._screen.do(self._redo(session_id)),
                    back=self._panels.close,
                )
            )
        else:
            await self._redo(session_id)

    async def _redo(self, session_id: str) -> None:
        self._panels.close()
        report: RevertReport = await self._control.client.undo.unrevert(session_id)
        editor = self._screen.prompt.editor
        if self._restored_text and editor.text == self._restored_text:
            editor.put("")  # the chat shows it again
        if report.unavailable:
            self._screen.show_note("note", "Messages restored", unchanged_files(report))
        elif report.kept:
            self._screen.show_note("note", "Restored", f"{len(report.kept)} kept as you changed them")
        else:
            self._screen.show_note("done", "Restored")

    def _span(self, preview: RevertPreview) -> str:
        """Return `1 turn · 12:04 to 12:06`: the turns to undo and their times."""
        scope = preview.scope
        if scope is None:
            return ""
        return self._control.span(scope.messages or [scope.message_id], scope.requests)
