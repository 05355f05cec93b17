"""What the sidebar says, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.todo import Todo
from opencode_tui.text.quantity import money
from opencode_tui.tui.control import Control
from opencode_tui.tui.session_tree import SessionRow, session_rows
from opencode_tui.tui.theme.glyphs import Glyphs


@dataclass(frozen=True, slots=True)
class SidebarFacts:
    """A section without content is not drawn. `used` and `limit` are tokens, a limit of 0 is unknown."""

    used: int = 0
    limit: int = 0
    cost: str = ""
    todos: Sequence[Todo] = ()
    diffs: Sequence[FileDiff] = ()
    sessions: Sequence[SessionRow] = field(default=(), hash=False)
    shown: str | None = None
    now: int = 0
    folder: str = ""
    branch: str = ""


def sidebar_facts(control: Control, glyphs: Glyphs, *, home: str) -> SidebarFacts:
    """What is known now."""
    facts, now = control.facts, control.now()
    directory = str(control.client.directory)
    is_home = directory == home or directory.startswith(home.rstrip("/") + "/")
    return SidebarFacts(
        used=facts.context if facts else 0,
        limit=control.choice.limit,
        cost=money(facts.cost) if facts and facts.cost else "",
        todos=facts.todos if facts else (),
        diffs=facts.diffs if facts else (),
        sessions=session_rows(control.folder, now, glyphs),
        shown=control.session_id,
        now=now - now % 1000,
        folder=f"~{directory[len(home.rstrip('/')) :]}" if is_home else directory,
        branch=control.folder.branch or "",
    )
