"""The states of language servers, in words."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencode_tui.schema.api.language import ServerStatus

SERVER_WORDS: Mapping["ServerStatus", str] = {
    "connected": "running",
    "starting": "starting",
    "error": "off",
    "stopped": "stopped",
    "ready": "not started",
    "missing": "unavailable",
}

RUN: Sequence["ServerStatus"] = ("connected", "starting", "error", "stopped")
"""The states of servers that run or ran; the others start by themselves or cannot."""
