"""The apply_patch tool: changes to many files, all verified before any is written.

Source: docs/internals/tools.md#apply_patch.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from opencode_tui.engine.format.formatted import FormatEdit, keep
from opencode_tui.engine.lsp.change import EditCheck, FileChange, check_nothing
from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.engine.tool.edit.diff import TextDiff, compare
from opencode_tui.engine.tool.edit.edit_permission import EditPermission
from opencode_tui.engine.tool.edit.file_editor import shown_texts
from opencode_tui.engine.tool.edit.patch import (
    AddFile,
    DeleteFile,
    Patched,
    Section,
    UpdateFile,
    apply_chunks,
    parse_patch,
)
from opencode_tui.engine.tool.edit.placeholder import refuse_placeholders
from opencode_tui.engine.tool.files.files import NotTextError, TextFile, WorktreeFiles
from opencode_tui.engine.tool.files.read_guard import ReadGuard, Stamp
from opencode_tui.engine.tool.files.text_format import TextFormat
from opencode_tui.engine.tool.files.transaction import Change
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.location import Location, ask_outside, locate, locate_link
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError

_LETTERS = {"add": "A", "update": "M", "move": "M", "delete": "D"}


class ApplyPatchParameters(Parameters):
    """The patch."""

    patch_text: str


class _Step(Struct, frozen=True):
    """A verified section: its kind and file, and the file changes that it needs."""

    kind: Literal["add", "update", "delete", "move"]
    source: Location
    target: Location
    before: str
    after: str
    diff: TextDiff
    changes: tuple[Change, ...]
    note: str = ""

    @property
    def file_changes(self) -> list[FileChange]:
        """The changes of texts; a move creates one file and deletes another."""
        after = None if self.kind == "delete" else self.after
        if self.kind == "move":
            moved = FileChange(self.target.real, None, after, source=self.source.real)
            return [moved, FileChange(self.source.real, self.before, None)]
        return [FileChange(self.target.real, None if self.kind == "add" else self.before, after)]

    @property
    def metadata(self) -> dict[str, Any]:
        """The step as the screen and a permission question show it; `relativePath` is the new one of a moved file."""
        before, after = shown_texts(self.before, self.after)
        shown: dict[str, Any] = {
            "filePath": str(self.source.path),
            "relativePath": self.target.relative,
            "type": self.kind,
            "diff": self.diff.text,
            "before": before,
            "after": after,
            "additions": self.diff.additions,
            "deletions": self.diff.deletions,
        }
        return {**shown, "movePath": str(self.target.path)} if self.kind == "move" else shown


class ApplyPatchTool:
    """Applies a patch; requires no earlier read, because the patch itself must match the files."""

    name = "apply_patch"
    parameters = ApplyPatchParameters

    def __init__(
        self,
        *,
        files: WorktreeFiles,
        stamps: ReadGuard,
        permission: EditPermission,
        check: EditCheck = check_nothing,
        format_edit: FormatEdit = keep,
    ) -> None:
        self.description = read_description(self.name)
        self._check = check
        self._format = format_edit
        self._files = files
        self._permission = permission
        self._stamps = stamps

    async def run(self, arguments: ApplyPatchParameters, context: ToolContext) -> ToolResult:
        """Apply the patch; raises ToolError, with all files unchanged, when any part does not match."""
        sections = parse_patch(arguments.patch_text)
        locations = await self._locate(sections, context)
        async with self._files.exclusively(*(source.real for pair in locations for source in pair)):
            steps = [
                await self._verify(section, source, target, context)
                for section, (source, target) in zip(sections, locations, strict=True)
            ]
            shown = {"diff": "\n".join(step.diff.text for step in steps), "files": [step.metadata for step in steps]}
            await self._ask(steps, shown, context)
            changes = [change for step in steps for change in step.changes]
            stamps = await self._files.apply(changes, context)
        for change, stamp in zip(changes, stamps, strict=True):
            self._remember(change, stamp, context)
        listed = "\n".join(f"{_LETTERS[step.kind]} {step.target.relative}" for step in steps)
        listed += "".join(step.note for step in steps)
        title = f"{len(steps)} {'file' if len(steps) == 1 else 'files'}"
        report = await self._check([change for step in steps for change in step.file_changes], context.session_id)
        shown = {**shown, "diagnostics": report.diagnostics}
        return ToolResult(title, f"Patch applied.\n{listed}{report.message}", shown)

    async def _locate(self, sections: Sequence[Section], context: ToolContext) -> list[tuple[Location, Location]]:
        """Return each section's file and its target; a file that moves may be read.

        Raises ToolError when a file is named twice, or a link would be moved. A link that is deleted is the file itself: what it
        leads to stays.
        """
        seen: set[Path] = set()
        asked: set[Path] = set()
        locations: list[tuple[Location, Location]] = []
        for section in sections:
            source = await locate(section.path, context)
            moved = section.move_to if isinstance(section, UpdateFile) else None
            if source.is_link and moved:
                raise ToolError(
                    f"{source.path} is a symbolic link to {source.real}, and a patch moves files only",
                    "move the file that it leads to, or make the new link with bash",
                )
            if source.is_link and isinstance(section, DeleteFile):
                source = await locate_link(section.path, context)
            target = await locate(moved, context) if moved else source
            for location in {source.real: source, target.real: target}.values():
                if location.real in seen:
                    raise ToolError(f"{location.path} is in the patch twice", "put all its changes into one section")
                seen.add(location.real)
                if location.real.parent not in asked:
                    asked.add(location.real.parent)
                    await ask_outside(location, context, "write")
            if target is not source:  # the rules and questions about reading would not be about the new name
                await ask_outside(source, context, "read")
                await context.ask("read", source.read_patterns, always=grantable(source.read_patterns))
            locations.append((source, target))
        return locations

    async def _verify(self, section: Section, source: Location, target: Location, context: ToolContext) -> _Step:
        if isinstance(section, DeleteFile) and source.is_link:
            return await self._delete_link(source)
        old, stamp = await self._state(source)
        before, note = old.text if old else "", ""
        match section:
            case AddFile():
                if old:
                    refuse_placeholders(source.path, section.content, old.text)
                form = old.format if old else TextFormat()
                after = form.end_lines(section.content) if old else section.content
                after, note = await self._formatted(source, before if old else None, after)
                kind, changes = "add", (Change(source.real, form.encode(after), stamp),)
            case DeleteFile():
                if stamp is None:
                    raise ToolError(f"{source.path} does not exist, so it cannot be deleted", "correct the patch")
                kind, after, changes = "delete", "", (Change(source.real, None, stamp),)
            case UpdateFile():
                if old is None:
                    raise await self._unfit(source)
                patched = Patched(before)
                if section.chunks:
                    may_show = self._stamps.is_known(context.session_id, source.real, old.stamp)
                    patched = await asyncio.to_thread(apply_chunks, old, section.chunks, may_show=may_show)
                after, note = await self._formatted(target, before, patched.text)
                note = "".join(f"\nNote: {target.relative}: {one}" for one in patched.notes) + note
                kind = "update" if target.real == source.real else "move"
                changes = await self._move(old, after, source, target)
        diff = await asyncio.to_thread(compare, target.relative, before, after)
        return _Step(kind, source, target, before, after, diff, changes, note)

    async def _delete_link(self, source: Location) -> _Step:
        stamp = await self._files.link_stamp(source.real)
        if stamp is None:
            raise ToolError(f"{source.path} changed on disk meanwhile", "look at it again")
        note = f"\nNote: {source.relative} was a link; what it leads to is unchanged."
        return _Step("delete", source, source, "", "", TextDiff("", 0, 0), (Change(source.real, None, stamp),), note)

    async def _formatted(self, target: Location, before: str | None, after: str) -> tuple[str, str]:
        done = await self._format(target.real, before, after)
        return done.text, f"\n{target.relative}:{done.message}" if done.message else ""

    async def _state(self, source: Location) -> tuple[TextFile | None, Stamp | None]:
        """Return a file's text, if it has one, and its stamp, if it exists."""
        try:
            file = await self._files.read(source.real)
        except NotTextError as error:
            return None, error.stamp
        return file, file.stamp if file else None

    async def _unfit(self, source: Location) -> ToolError:
        """Return why a file cannot be updated."""
        try:
            await self._files.read(source.real)
        except ToolError as error:
            return error
        return ToolError(f"{source.path} does not exist, so it cannot be updated", "add it, or correct the path")

    async def _move(self, old: TextFile, after: str, source: Location, target: Location) -> tuple[Change, ...]:
        if target.real == source.real:
            return (old.change(after),)
        _, overwritten = await self._state(target)
        return (
            Change(target.real, old.format.encode(after), overwritten, old.mode),
            Change(source.real, None, old.stamp),
        )

    async def _ask(self, steps: Sequence[_Step], shown: dict[str, Any], context: ToolContext) -> None:
        touched = [source for step in steps for source in (step.source, step.target)]
        names = ", ".join(dict.fromkeys(step.target.relative for step in steps))
        await self._permission.ask(touched, context, filepath=names, shown=shown)

    def _remember(self, change: Change, stamp: Stamp | None, context: ToolContext) -> None:
        if stamp is None:
            self._stamps.evict(context.session_id, change.path)
        else:
            self._stamps.mark(context.session_id, change.path, stamp)


def make(kit: ToolKit) -> ApplyPatchTool:
    """Return the tool."""
    editing = kit.editing
    return ApplyPatchTool(
        files=editing.files,
        stamps=editing.stamps,
        permission=editing.permission,
        check=editing.check,
        format_edit=editing.format_edit,
    )
