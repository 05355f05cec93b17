"""Reads the turns of a session for the timeline: the newest at once, older ones in groups while those are shown."""

import asyncio
from collections.abc import Mapping, Sequence

from opencode_tui.client.facets.session import MessagesFacet
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.text.time_shares import TimeShares
from opencode_tui.tui.pages.timeline_moments import Branch, Moment, Moments, Seen, begins_turn, id_of, left_to_read

FIRST, GROUP = 400, 1_000
"""Messages that are read before the page is shown, and those that are in memory at a time afterwards."""


class TimelineReader:
    """The turns of a session that are read so far."""

    def __init__(self, messages: MessagesFacet, session_id: str, branches: Sequence[Branch], *, root: str = "") -> None:
        self._messages = messages
        self._session_id = session_id
        self._moments = Moments(branches, root=root)
        self._ids: Sequence[str] = ()
        self.left = 0
        """Messages that are not read yet, all older than those that are."""

    @property
    def found(self) -> Sequence[Moment]:
        """The moments that are read, oldest first."""
        return self._moments.found

    @property
    def shares(self) -> TimeShares:
        """How the time of the turns that are read was spent."""
        return self._moments.shares

    async def start(self) -> None:
        """Read the newest turns. Raises OpencodeError."""
        self._ids = await self._messages.ids(self._session_id)
        self.left = len(self._ids)
        await self._read(FIRST)

    async def read_older(self) -> None:
        """Read the turns before those that are read. Raises OpencodeError."""
        await self._read(GROUP)

    async def _read(self, count: int) -> None:
        """Read so many messages, and more where no turn begins among them."""
        messages: list[Seen] = []
        begin, first = self.left, 0
        while begin:
            begin, end = max(0, begin - count), begin
            outlines = await self._messages.outlines(self._session_id, self._ids[begin:end])
            whole = await self._whole([one.id for one in outlines if one.is_partial])
            messages = [*_replaced(outlines, whole), *messages]
            begins = (at for at, one in enumerate(messages) if not begin or begins_turn(one))
            first = next(begins, -1)
            if first >= 0:
                break
        kept = messages[max(0, first) :]
        position = self._ids.index(id_of(kept[0]), begin) if begin else 0
        whole = await self._whole(left_to_read(kept, self._moments.following))
        kept = _replaced(kept, whole)
        self._moments.following = _replaced(self._moments.following, whole)
        await asyncio.to_thread(self._moments.add, kept, position)
        self.left = position

    async def _whole(self, ids: Sequence[str]) -> dict[str, MessageWithParts | None]:
        """Return these messages by ID, None for those that do not exist any more."""
        found = await self._messages.named(self._session_id, ids) if ids else ()
        return {**dict.fromkeys(ids), **{one.info.id: one for one in found}}


def _replaced(messages: Sequence[Seen], whole: Mapping[str, MessageWithParts | None]) -> list[Seen]:
    """Return the messages with those that were read whole in their places."""
    if not whole:
        return [*messages]
    found = (whole.get(id_of(one), one) for one in messages)
    return [one for one in found if one is not None]
