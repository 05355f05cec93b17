"""Sessions as rows of a list, each with its state; deleted sessions."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.sessions.arrangement import day
from opencode_tui.tui.state.session_state import State, name_of

if TYPE_CHECKING:
    from opencode_tui.schema.api.trash import TrashedSession


class Row(Struct, frozen=True, gc=False):
    """A session, or a deleted one."""

    of: "ListedSession | TrashedSession"
    id: str
    """The ID of the session, or the name of the entry in the trash."""
    time: int
    """When it was last updated, or deleted, in ms since 1970."""
    group: str = ""
    """The day of `time`, of a fork or subagent session that of its tree; `Pinned`, or the folder of another project. Safe."""
    state: State = "idle"
    branch: str = ""
    """The tree line before it."""

    @property
    def title(self) -> str:
        """The title, safe."""
        if isinstance(self.of, ListedSession):
            return name_of(self.of)[1]
        return screen_line(" ".join(self.of.title.split())) or "(no title)"

    @property
    def kind(self) -> str:
        """Empty, `fork` or the agent's name, safe."""
        return name_of(self.of)[0] if isinstance(self.of, ListedSession) else ""

    @property
    def is_pinned(self) -> bool:
        """Whether the user pinned the session."""
        return isinstance(self.of, ListedSession) and self.of.is_pinned

    @property
    def is_shared(self) -> bool:
        """Whether the session is on a share server."""
        return isinstance(self.of, ListedSession) and self.of.is_shared


def trash_rows(entries: Iterable["TrashedSession"], now: int) -> list[Row]:
    """Return deleted sessions in their order; `now` is in ms since 1970."""
    return [Row(one, one.name, one.deleted, day(one.deleted, now)) for one in entries]


def row_of(info: ListedSession) -> Row:
    """Return a session outside of a list."""
    return Row(info, info.id, info.updated)
