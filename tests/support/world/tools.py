"""A bench for calling tools: a real folder, a context that records what was asked, and answers of the user."""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.tool.builtin.read import ReadTool
from opencode_tui.engine.tool.edit.edit_permission import EditPermission
from opencode_tui.engine.tool.edit.file_editor import FileEditor
from opencode_tui.engine.tool.files.files import WorktreeFiles
from opencode_tui.engine.tool.files.read_guard import ReadGuard
from opencode_tui.engine.tool.parameter_schema import parse
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult
from opencode_tui.schema.error import RejectedError
from opencode_tui.schema.permission import Ruleset


@dataclass
class Asked:
    permission: str
    patterns: list[str]
    always: list[str]
    metadata: dict[str, Any]
    must_ask: list[str]


@dataclass
class Workbench:
    """`before_answer` runs while the question is open; `refused` are permissions that are answered with no.

    All content of the folders in `protected` is protected.
    """

    folder: Path
    worktree: Path | None = None
    session_id: str = "ses_1"
    asked: list[Asked] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    before_answer: Callable[[], object] | None = None
    edited: list[Path] = field(default_factory=list)
    protected: Collection[Path] = ()
    layers: Sequence[Ruleset] = ()

    def __post_init__(self) -> None:
        self.stamps = ReadGuard()
        self.files = WorktreeFiles(edited=lambda change: self.edited.append(change.path))
        self.permission = EditPermission(self.protected)
        self.editor = FileEditor(files=self.files, stamps=self.stamps, permission=self.permission)
        self.reader = ReadTool(stamps=self.stamps)

    @property
    def context(self) -> ToolContext:
        return ToolContext(
            session_id=self.session_id,
            message_id="msg_1",
            call_id="call_1",
            agent="build",
            directory=self.folder,
            worktree=self.worktree or self.folder,
            ask=_Ask(self),
            progress=lambda title, metadata: None,
        )

    async def record(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> None:
        self.asked.append(Asked(permission, list(patterns), list(always), metadata or {}, list(must_ask)))
        if self.before_answer is not None:
            self.before_answer()
        if permission in self.refused:
            raise RejectedError

    async def call(self, tool: Any, **written: Any) -> ToolResult:
        """Run a tool with what a model would write."""
        parameters = parse(tool.parameters, written)
        assert isinstance(parameters, Parameters), parameters
        return await tool.run(parameters, self.context)

    async def read(self, *names: str) -> None:
        for name in names:
            await self.call(self.reader, filePath=name)

    def asks(self, permission: str) -> list[list[str]]:
        return [asked.patterns for asked in self.asked if asked.permission == permission]


def bench_in(folder: Path) -> Workbench:
    """Make the folder of a project in a folder, and return a workbench there."""
    (folder / "project").mkdir()
    return Workbench(folder / "project")


class _Ask:
    """Records the queries of a call; no rule decides about them."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> None:
        await self._bench.record(permission, patterns, always=always, metadata=metadata, must_ask=must_ask)

    async def query(self, query: Query) -> bool:
        for one in (query, *query.also):
            await self._bench.record(
                one.permission,
                one.patterns,
                always=one.always,
                metadata=query.metadata,
                must_ask=[*one.must_ask, *one.by_user],
            )
        return False

    async def is_always_outside(self, query: Query) -> bool:
        return False

    def rules(self) -> Sequence[Ruleset]:
        return self._bench.layers


def tree(folder: Path) -> dict[str, str]:
    """Return every file below a folder by its path, with mode and a digest of its bytes; links with their targets."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = f"{path.stat().st_mode & 0o7777:o} {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
        else:
            found[name] = "folder"
    return found
