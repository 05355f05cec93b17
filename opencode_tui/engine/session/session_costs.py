"""What the sessions that a list shows cost, each with its agents' sessions, without work over all sessions each time."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.error import CorruptRecordError, NotFoundError
from opencode_tui.schema.ids import is_identifier
from opencode_tui.schema.session.session import SessionInfo, hidden_cost, own_field, own_from
from opencode_tui.storage.keys import SUFFIX
from opencode_tui.storage.session_columns import ARCHIVED, FORK, NONE, Columns

if TYPE_CHECKING:
    from opencode_tui.storage.session_sums import SessionSums

AGE_S = 60.0
"""Seconds for which a look at all sessions serves again: what is created here meanwhile is known without."""


MOST = 4_000
"""Families that are kept."""


class _Session(Struct, frozen=True, gc=False):
    """From when on the messages of a session are its own, in ms, and the USD of its calls without a message."""

    begun: int
    hidden: Decimal
    is_archived: bool


class SessionCosts:
    """The costs of one project's sessions. Called on the engine's event loop, which it never blocks."""

    def __init__(self, *, store: SessionStore, sums: "Lazy[SessionSums]", project_id: str) -> None:
        self._store = store
        self._sums = sums
        self._project_id = project_id
        self._known = _Families(NONE, {})

    async def of_families(self, session_ids: Sequence[str], is_archived: bool = False) -> dict[str, float]:
        """Return the cost of these sessions with their agents' sessions in USD, without those that cost nothing.

        Raises StorageError. What counts is in `SessionsFacet.family_costs`.
        """
        columns, agents = await self._store.columns(self._project_id, age_s=AGE_S), self._store.agents
        known = self._known
        if not known.is_of(columns, agents):
            known = self._known = _Families(columns, dict(agents))
        for session_id in await asyncio.to_thread(known.read, session_ids):
            if (info := await self._new(session_id)) is not None:
                known.add(info)
        families = {one: known.counted(one, is_archived=is_archived) for one in session_ids}
        begun = {one: known.sessions[one].begun for family in families.values() for one in family}
        own = await asyncio.to_thread(self._sums.get().costs, begun)
        costs = {
            session_id: sum((own.get(one, Decimal(0)) + known.sessions[one].hidden for one in family), Decimal(0))
            for session_id, family in families.items()
        }
        return {session_id: float(cost) for session_id, cost in costs.items() if cost}

    async def total(self, is_archived: bool = False) -> float:
        """Return the cost of all sessions that are not archived, or of those that are, in USD. Raises StorageError."""
        columns = await self._store.columns(self._project_id)
        return float(await asyncio.to_thread(self._sums.get().spent, columns, is_archived=is_archived))

    async def _new(self, session_id: str) -> SessionInfo | None:
        """Read a session that is new; None for one of another project, which counts nothing here."""
        if not is_identifier(session_id, "ses"):
            return None
        try:
            info = await self._store.get(session_id)
        except (NotFoundError, CorruptRecordError):
            return None
        return info if info.project_id == self._project_id else None


class _Families:
    """The sessions that were asked for, with those of their agents; for one look at all and these later agents.

    Threads only add to it.
    """

    def __init__(self, columns: Columns, agents: Mapping[str, str]) -> None:
        self.sessions: dict[str, _Session] = {}
        self._columns = columns
        self._agents = agents
        self._families: dict[str, Sequence[str]] = {}
        self._children: dict[str, Sequence[str]] = {}

    def is_of(self, columns: Columns, agents: Mapping[str, str]) -> bool:
        """Return whether this is of these sessions, and small enough to keep."""
        return columns is self._columns and len(agents) == len(self._agents) and len(self._families) <= MOST

    def read(self, session_ids: Iterable[str]) -> Sequence[str]:
        """Find families; return the sessions in them that the columns do not have. Blocks: it passes all sessions once."""
        new = [one for one in session_ids if one not in self._families]
        if not new:
            return ()
        columns, below = self._columns, dict[str, list[str]]()
        later = ((one, parent) for one, parent in self._agents.items() if one not in columns.parents)
        for one, parent in chain(columns.parents.items(), later):
            below.setdefault(parent, []).append(one)
        families = {one: _with_all_below(one, below) for one in new}
        wanted = {f"{one}{SUFFIX}" for one in chain.from_iterable(families.values())}
        for row, name in enumerate(columns.names):
            if name in wanted:
                flags, session_id = columns.flags[row], columns.id_of(row)
                begun = own_field(session_id) if flags & FORK else 0
                hidden = Decimal(str(columns.costs.get(session_id, 0)))
                self.sessions[session_id] = _Session(begun, hidden, bool(flags & ARCHIVED))
        self._children |= {one: below[one] for family in families.values() for one in family if one in below}
        self._families |= families
        return [one for name in wanted if (one := name[: -len(SUFFIX)]) not in self.sessions]

    def add(self, info: SessionInfo) -> None:
        """Add a session that the columns do not have."""
        self.sessions[info.id] = _Session(own_from(info), hidden_cost(info), info.time.archived is not None)

    def counted(self, session_id: str, *, is_archived: bool) -> Sequence[str]:
        """Return the sessions of a family that count; none for a session that is not one of the project."""
        sessions, children = self.sessions, self._children
        if session_id not in sessions:
            return ()
        family = [one for one in self._families[session_id] if one in sessions]
        if is_archived or not any(sessions[one].is_archived for one in family):
            return family
        return _with_all_below(
            session_id,
            {
                one: [child for child in children.get(one, ()) if child in sessions and not sessions[child].is_archived]
                for one in family
            },
        )


def _with_all_below(session_id: str, below: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a session and all whose parents are among these."""
    found = {session_id: None}
    for one in (waiting := [session_id]):
        new = [child for child in below.get(one, ()) if child not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)
