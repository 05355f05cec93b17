"""Applies the files of a branch to those of a session: all of them or none, with one question, as a change that undo covers.

A file that both changed is merged as git does; where that fails nothing is applied, and the conflicts are named.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from opencode_tui.engine.project.branch_files import BranchFile, merge_texts
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.tool.edit.diff import TextDiff, compare
from opencode_tui.engine.tool.files.read_guard import Stamp, stamp_of
from opencode_tui.engine.tool.files.transaction import Change, explain
from opencode_tui.engine.tool.kit import Editing
from opencode_tui.engine.tool.location import Location, locate
from opencode_tui.engine.tool.tool import SubagentBranch, ToolContext, ToolResult
from opencode_tui.schema.error import ToolError
from opencode_tui.storage.safe_folder import open_folder

_NAMED = 20
_SHOWN_FILES = 100
"""Files whose diffs a question shows."""

_LIMIT_BYTES = 64 * 1024 * 1024
"""Above this many bytes a file is not merged with a branch."""


class _Present(Struct, frozen=True):
    """A file as it is now: None for one that does not exist; `problem` is why it cannot be changed."""

    data: bytes | None = None
    stamp: Stamp | None = None
    problem: str = ""


class _Step(Struct, frozen=True):
    """A file that changes: where, from what, to what."""

    location: Location
    before: bytes | None
    change: Change


class BranchEdit(Struct, frozen=True):
    """Applies branches for the tool that starts agents."""

    editing: Editing
    environ: Mapping[str, str]

    async def apply(self, branch: SubagentBranch, context: ToolContext) -> ToolResult:
        """Apply a branch and return what was changed. Raises ToolError, with all files unchanged, when one conflicts."""
        locations = [await locate(str(context.worktree / file.name), context) for file in branch.files]
        async with self.editing.files.exclusively(*(location.real for location in locations)):
            steps = await self._plan(branch, locations, context)
            if not steps:
                return ToolResult(branch.branch, f"The files have the changes of {branch.branch} already.")
            shown = await asyncio.to_thread(_shown, steps)
            changed = [step.location for step in steps]
            await self.editing.permission.ask(changed, context, filepath=str(changed[0].path), shown=shown)
            stamps = await self.editing.files.apply([step.change for step in steps], context)
        for step, stamp in zip(steps, stamps, strict=True):
            if stamp is not None:
                self.editing.stamps.mark(context.session_id, step.change.path, stamp)
        noun = "file" if len(steps) == 1 else "files"
        listed = [f"{_letter(step)} {step.location.relative}" for step in steps]
        more = [f"… and {len(listed) - _SHOWN_FILES} more"] if len(listed) > _SHOWN_FILES else []
        text = "\n".join([f"Applied {branch.branch}.", *listed[:_SHOWN_FILES], *more])
        return ToolResult(f"{len(steps)} {noun} of {branch.branch}", text, shown)

    async def _plan(
        self, branch: SubagentBranch, locations: Sequence[Location], context: ToolContext
    ) -> Sequence[_Step]:
        git = SafeGit(context.worktree, environ=self.environ)
        steps: list[_Step] = []
        conflicts: list[str] = []
        found = await asyncio.to_thread(lambda: [_read(location) for location in locations])
        for file, location, now in zip(branch.files, locations, found, strict=True):
            problem = now.problem or _problem(file, location)
            if problem:
                conflicts.append(f"{file.name} ({problem})")
                continue
            if now.data == file.after:
                continue
            after = file.after
            if now.data != file.before:
                merged = await _merge(git, file, now)
                if merged is None:
                    conflicts.append(f"{file.name} (changed here too)")
                    continue
                after = merged
            mode = 0o777 if file.is_executable and now.data is None else None
            steps.append(_Step(location, now.data, Change(location.real, after, now.stamp, mode)))
        if conflicts:
            more = f", and {len(conflicts) - _NAMED} more" if len(conflicts) > _NAMED else ""
            raise ToolError(
                f"nothing was applied, {branch.branch} conflicts with the files in {', '.join(conflicts[:_NAMED])}{more}",
                f"read these with `git show {branch.branch}:PATH` and edit them yourself, or start a new task",
            )
        return steps


async def _merge(git: SafeGit, file: BranchFile, now: _Present) -> bytes | None:
    if file.before is None or file.after is None or now.data is None:
        return None
    return await merge_texts(git, now.data, file.before, file.after)


def _problem(file: BranchFile, location: Location) -> str:
    if not file.is_regular:
        return "a link or a module"
    return "a link leads to it" if location.is_alias or not location.is_inside else ""


def _read(location: Location) -> _Present:
    """Return a file as it is now. Blocks."""
    try:
        with open_folder(location.real.parent) as folder:
            status = folder.find(location.real.name)
            if status is None:
                return _Present()
            if location.is_folder:
                return _Present(problem="a folder")
            if status.st_size > _LIMIT_BYTES:
                return _Present(problem="too large")
            data, facts = folder.read(location.real.name, _LIMIT_BYTES)
            return _Present(data, stamp_of(facts))
    except FileNotFoundError:
        return _Present()
    except OSError as error:
        return _Present(problem=explain(error, Path(location.relative)).problem)


def _shown(steps: Sequence[_Step]) -> dict[str, Any]:
    """Return the changes as a question and the screen show them. Blocks."""
    rows: list[dict[str, Any]] = []
    for step in steps[:_SHOWN_FILES]:
        diff = _compare(step)
        kind = {"A": "add", "D": "delete"}.get(_letter(step), "update")
        row = {"filePath": str(step.location.path), "relativePath": step.location.relative, "type": kind}
        rows.append({**row, "diff": diff.text, "additions": diff.additions, "deletions": diff.deletions})
    texts = [str(row["diff"]) for row in rows]
    if len(steps) > _SHOWN_FILES:
        texts.append(f"… and {len(steps) - _SHOWN_FILES} more files\n")
    return {"diff": "\n".join(texts), "files": rows}


def _compare(step: _Step) -> TextDiff:
    try:
        before, after = ((data or b"").decode() for data in (step.before, step.change.content))
    except UnicodeDecodeError:
        return TextDiff(f"Index: {step.location.relative}\n(a binary file)\n", 0, 0)
    return compare(step.location.relative, before, after)


def _letter(step: _Step) -> str:
    if step.change.content is None:
        return "D"
    return "A" if step.before is None else "M"
