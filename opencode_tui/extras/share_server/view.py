"""A share as its readers see it: the whole page, and single messages for a page that is open. All block; records are hostile."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from opencode_tui.extras.share_server.store import Item
from opencode_tui.schema.ids import moment, spans_wrap
from opencode_tui.schema.record import ValidationError
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import MESSAGE
from opencode_tui.schema.session.part import AnyPart, parse_part
from opencode_tui.schema.session.session import SessionInfo, SessionTime
from opencode_tui.text.export.html import Live, head_html, message_html, session_page

_UNKNOWN = SessionInfo(
    id="ses_unknown",
    version="",
    project_id="",
    directory="",
    title="Shared session",
    time=SessionTime(created=0, updated=0),
)


class Update(Struct, frozen=True):
    """One message of an open page: its element, and its content, none when it is gone."""

    at: str
    html: str | None

    def to_dict(self) -> dict[str, object]:
        """Return it as the script of the page reads it."""
        return {"at": self.at, "gone": True} if self.html is None else {"at": self.at, "html": self.html}


def render_page(items: Mapping[str, Item], live: Live) -> Iterator[bytes]:
    """Yield the page of a share."""
    for piece in session_page(_info(items), _messages(items, _message_ids(items)), live):
        yield piece.encode("utf-8", "replace")


def render_head(items: Mapping[str, Item]) -> str:
    """Return the title and the figures of a share, as JSON for an event."""
    return json.dumps({"html": head_html(_info(items), _messages(items, _message_ids(items)))})


def render_updates(items: Mapping[str, Item], message_ids: Iterable[str]) -> str:
    """Return these messages as JSON for an event; deleted messages are omitted."""
    wanted = sorted(message_ids)
    root = _info(items).directory
    found = {message.info.id: message for message in _messages(items, wanted)}
    updates = [Update(f"m-{one}", message_html(found[one], root) if one in found else None) for one in wanted]
    return json.dumps([update.to_dict() for update in updates])


def changed_since(items: Mapping[str, Item], version: int) -> set[str]:
    """Return the IDs of the messages that changed after a version."""
    return {key.split("/")[1] for key, item in items.items() if item.version > version and "/" in key}


def _info(items: Mapping[str, Item]) -> SessionInfo:
    item = items.get("session")
    if item is not None:
        with suppress(ValidationError):
            return SessionInfo.model_validate_json(item.data)
    return _UNKNOWN


def _message_ids(items: Mapping[str, Item]) -> list[str]:
    return sorted(key.removeprefix("message/") for key in items if key.startswith("message/"))


def _messages(items: Mapping[str, Item], message_ids: Sequence[str]) -> list[MessageWithParts]:
    """Return the valid messages with their valid parts, in order."""
    parts: dict[str, list[str]] = {}
    for key in items:
        if key.startswith("part/"):
            parts.setdefault(key.split("/")[1], []).append(key)
    found: list[MessageWithParts] = []
    for message_id in message_ids:
        item = items.get(f"message/{message_id}")
        if item is not None:
            with suppress(ValidationError):
                found.append(
                    with_parts(MESSAGE.validate_json(item.data), list(_parts(items, sorted(parts.get(message_id, [])))))
                )
    if spans_wrap(message_ids):
        found.sort(key=lambda one: moment(one.info.id, one.info.time.created))
    return found


def _parts(items: Mapping[str, Item], keys: Iterable[str]) -> Iterator[AnyPart]:
    for key in keys:
        with suppress(ValidationError):
            yield parse_part(items[key].data)
