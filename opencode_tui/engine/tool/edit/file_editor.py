"""The edit of one file: permission for outside folders, the read guard, permission with a diff, the write, the new stamp.

The path is locked from the first read to the write, so that two calls on one file both take effect.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from opencode_tui.engine.format.formatted import FormatEdit, keep
from opencode_tui.engine.lsp.change import EditCheck, EditReport, FileChange, check_nothing
from opencode_tui.engine.tool.edit.diff import TextDiff, compare
from opencode_tui.engine.tool.edit.edit_permission import EditPermission
from opencode_tui.engine.tool.files.files import TextFile, WorktreeFiles
from opencode_tui.engine.tool.files.read_guard import ReadGuard
from opencode_tui.engine.tool.files.text_format import TextFormat, presentable
from opencode_tui.engine.tool.files.transaction import Change
from opencode_tui.engine.tool.location import Location, ask_outside, locate
from opencode_tui.engine.tool.tool import ToolContext

_KEPT_TEXT_CHARACTERS = 1_000_000
"""Above this many characters before and after, the texts are left out of a call's metadata; the diff stays."""


class Rewrite(Struct, frozen=True):
    """The new text of a file, its stored form, and a note for the model on how the match was found."""

    text: str
    format: TextFormat
    note: str = ""


class Edited(Struct, frozen=True):
    """A completed edit, and the errors that it brought."""

    location: Location
    before: str
    after: str
    diff: TextDiff
    existed: bool
    note: str
    report: EditReport = EditReport()

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that the TUI shows: `diff`, `diagnostics` by file, and `filediff`, whose `file` is absolute."""
        before, after = shown_texts(self.before, self.after)
        return {
            "diff": self.diff.text,
            "diagnostics": self.report.diagnostics,
            "filediff": {
                "file": str(self.location.path),
                "before": before,
                "after": after,
                "additions": self.diff.additions,
                "deletions": self.diff.deletions,
            },
        }


def shown_texts(before: str, after: str) -> tuple[str, str]:
    """Return both texts as metadata keeps them: empty when they are too large."""
    if len(before) + len(after) > _KEPT_TEXT_CHARACTERS:
        return "", ""
    return presentable(before), presentable(after)


class FileEditor:
    """Changes single files for the tools that write.

    `format_edit` formats what an edit changed before it is written; `check` looks for the errors that it brought.
    """

    def __init__(
        self,
        *,
        files: WorktreeFiles,
        stamps: ReadGuard,
        permission: EditPermission,
        check: EditCheck = check_nothing,
        format_edit: FormatEdit = keep,
    ) -> None:
        self._check = check
        self._format = format_edit
        self._files = files
        self._permission = permission
        self._stamps = stamps

    async def edit(
        self, written: str, context: ToolContext, rewrite: Callable[[Path, TextFile | None], Rewrite]
    ) -> Edited:
        """Replace the text of the file that `written` names by the result of `rewrite`, in a thread, and return the edit.

        Raises ToolError when the file is unknown to the session or cannot be written, or `rewrite` does.
        """
        location = await locate(written, context)
        await ask_outside(location, context)
        async with self._files.exclusively(location.real):
            old = await self._files.read(location.real)
            if old is not None:
                self._stamps.check(context.session_id, location.real, old.stamp)
            new = await asyncio.to_thread(rewrite, location.path, old)
            before = old.text if old else ""
            formatted = await self._format(location.real, before if old else None, new.text)
            new = Rewrite(formatted.text, new.format, new.note + formatted.message)
            diff = await asyncio.to_thread(compare, location.relative, before, new.text)
            change = Change(location.real, new.format.encode(new.text), old.stamp if old else None)
            await self._permission.ask(
                [location], context, filepath=str(location.path), shown={"diff": diff.text, "exists": old is not None}
            )
            [stamp] = await self._files.apply([change], context)
            if stamp is not None:
                self._stamps.mark(context.session_id, location.real, stamp)
        alias = location.describe_alias()
        through = f"\nNote: {location.relative} is {alias}; {location.real} was written." if alias else ""
        written_change = FileChange(location.real, before if old else None, new.text)
        report = await self._check([written_change], context.session_id)
        note = new.note + (old.note if old else "") + through + report.message
        return Edited(location, before, new.text, diff, old is not None, note, report)
