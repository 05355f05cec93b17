"""What a tool would ask permission for, found out by the code with which the tools ask; nothing is run."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.tool.builtin.bash_permission import ask_for_command
from opencode_tui.engine.tool.location import locate
from opencode_tui.engine.tool.tool import ToolContext

_PATHS = ("read", "edit")


class _Recorder:
    """Records what a tool asks, and allows it."""

    def __init__(self) -> None:
        self.queries: list[Query] = []

    async def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> None:
        self.queries.append(
            Query(session_id="", permission=permission, patterns=patterns, always=always, must_ask=must_ask)
        )


async def queries_of(permission: str, subject: str, *, directory: Path, worktree: Path, home: Path) -> list[Query]:
    """Return what a tool would ask before it acts on `subject`.

    That is for `bash` a command line, for `read` and `edit` a path, for any other permission the pattern itself.
    """
    recorder = _Recorder()
    context = ToolContext(
        session_id="",
        message_id="",
        call_id="",
        agent="",
        directory=directory,
        worktree=worktree,
        ask=recorder,
        progress=lambda _title, _metadata: None,
    )
    if permission == "bash":
        await ask_for_command(subject, folder=directory, home=home, context=context)
    elif permission in _PATHS:
        location = await locate(subject, context)
        await recorder(permission, location.read_patterns if permission == "read" else location.edit_patterns)
    else:
        await recorder(permission, [subject])
    return recorder.queries
