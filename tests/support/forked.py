"""Conversations as JSON, and what a conversation becomes in a fork."""

import json
from collections.abc import Sequence
from typing import Any

from opencode_tui.engine.session.records.fork_map import ForkMap
from opencode_tui.schema.session.history import MessageWithParts

Stored = list[tuple[Any, list[Any]]]


def as_stored(messages: Sequence[MessageWithParts]) -> Stored:
    """Return each message's record with those of its parts."""
    return [(one.info.to_dict(), [part.to_dict() for part in one.parts]) for one in messages]


def as_forked(messages: Sequence[MessageWithParts], fork_id: str) -> Stored:
    """Return what these messages are in a fork that works in the same folder."""
    mapping = ForkMap(fork_id)
    return [
        (
            json.loads(mapping.message(one.info.to_json())),
            [json.loads(mapping.part(part.to_json()) or b"null") for part in one.parts],
        )
        for one in messages
    ]
