"""What a compaction keeps word for word: the entries, and the user's changes of them. Stored below `ledger` in `metadata`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Reader, Record, ValidationError, absent
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.session import SessionInfo

LEDGER_KEY = "ledger"
"""The key of a session's `metadata` for the user's changes, and of a marker's text for what was kept."""

MOST_CHANGES, MOST_TEXT = 200, 2_000
"""Changes of a session, and characters of an entry that the user wrote."""

LedgerKind = Literal[
    "rule", "note", "correction", "refusal", "request", "todo", "command", "place", "check", "changed", "read", "last"
]
"""What an entry is: a rule of the user, one that they added here, a correction, a rejected call, an earlier request, an open todo,
a running command, the worktree and its branch, the last failing check, a file that was changed or read, the last request.
"""

LedgerOrigin = Literal["records", "edited", "added"]


class LedgerEntry(Record):
    """One entry. Its `id` stays while its text in the records does; `message_id` is where it is from.

    `is_sent` says whether the next request has it as it is here; it has what the last compaction kept.
    """

    id: str
    kind: LedgerKind
    text: str
    message_id: str | None = absent()
    origin: LedgerOrigin = "records"
    is_sent: bool = False


class KeptLedger(Record):
    """What a compaction kept, as the records said it then, and how many older entries of a kind had no room.

    It is stored in the metadata of the marker's text, below `ledger`: the next compaction reads no older messages.
    """

    entries: list[LedgerEntry] = Field(default_factory=list[LedgerEntry])
    omitted: dict[LedgerKind, int] = Field(default_factory=dict[LedgerKind, int])


class LedgerEdit(Record):
    """What the user did with an entry: another `text`, none for one that is removed; `kind` is the entry's."""

    id: str
    kind: LedgerKind
    text: str | None = absent()


_EDITS: Reader[list[LedgerEdit]] = Reader(list[LedgerEdit])


def ledger_edits_of(info: SessionInfo) -> Mapping[str, LedgerEdit]:
    """Return the user's changes of a session's ledger by entry, in the order in which they were made; none for invalid data."""
    found: object = (info.metadata or {}).get(LEDGER_KEY)
    if found is None:
        return {}
    try:
        return {one.id: one for one in _EDITS.validate_python(found)}
    except ValidationError:
        return {}


def kept_ledger_of(part: TextPart) -> KeptLedger | None:
    """Return what a marker's text says that was kept; None in records of older and of other programs."""
    found: object = (part.metadata or {}).get(LEDGER_KEY)
    if found is None:
        return None
    try:
        return KeptLedger.model_validate(found)
    except ValidationError:
        return None


def with_ledger_edits(info: SessionInfo, edits: Sequence[LedgerEdit]) -> SessionInfo:
    """Return the record with these changes in place of all others."""
    rest = {key: value for key, value in (info.metadata or {}).items() if key != LEDGER_KEY}
    if edits:
        rest[LEDGER_KEY] = [one.to_dict() for one in edits]
    return info.changed(metadata=rest or None)
