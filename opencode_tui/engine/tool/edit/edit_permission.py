"""The permission to change files: protected ones need approval every time.

Source: docs/internals/permissions.md#protected-files.
"""

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from opencode_tui.engine.permission.protected import is_protected
from opencode_tui.engine.permission.protected_files import find_named_files, find_repository_writes
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.engine.tool.location import Location
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.error import ToolError


class EditPermission(Struct, frozen=True):
    """Asks for `edit`. `folders` are absolute folders that are protected although their names do not show it.

    No file of the work tree `read_only` may be changed, but of the call's own.
    """

    folders: Collection[Path] = ()
    read_only: Path | None = None

    async def ask(
        self, locations: Sequence[Location], context: ToolContext, *, filepath: str, shown: Mapping[str, Any]
    ) -> None:
        """Return when these files, which change together, may be changed; `filepath` and `shown` are for the question.

        The question lists protected files as `protected`. They need approval even where a rule with a wildcard allows them, and
        no `always` can be given.
        """
        for location in locations:
            self._refuse_other_checkout(location, context)
        protected = await asyncio.to_thread(self.find_protected, locations, context)
        await context.ask(
            "edit",
            list(dict.fromkeys(pattern for location in locations for pattern in location.edit_patterns)),
            always=[] if protected else ["*"],
            metadata={"filepath": filepath, **shown, **({"protected": protected} if protected else {})},
            must_ask=protected,
        )

    def _refuse_other_checkout(self, location: Location, context: ToolContext) -> None:
        real, top = location.real, self.read_only
        if top is not None and real.is_relative_to(top) and not real.is_relative_to(context.worktree):
            raise ToolError(
                f"{location.path} is in the checkout of the session that started you, which you cannot change",
                f"change your copy of it: {context.worktree / real.relative_to(top)}",
            )

    def find_protected(self, locations: Sequence[Location], context: ToolContext) -> list[str]:
        """Return the patterns of the locations that are protected, as written or with links resolved. Blocks."""
        root = os.path.realpath(context.directory if str(context.worktree) == "/" else context.worktree)
        folders = {name for folder in self.folders for name in (str(folder), os.path.realpath(folder))}
        repository = find_repository(Path(root))
        if repository is not None:
            folders |= {str(path) for path in find_named_files(repository.common_dir, repository.worktree)}
        repositories = find_repository_writes((location.real for location in locations), Path(root))
        found = [
            location.edit_patterns
            for location in locations
            if location.real in repositories
            or any(is_protected(str(path), root, folders) for path in (location.path, location.real))
        ]
        return list(dict.fromkeys(pattern for patterns in found for pattern in patterns))
