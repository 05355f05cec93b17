"""The errors of providers in tests/engine/provider/data/errors.jsonl, and the error that each of them becomes.

One JSON object per line: `provider`, `via` (http, stream, or litellm for the text of an exception), `status`, `headers`, `body`;
the expected `kind`, `retry`, `wait_ms`, `cause` and `remedy` (words of the sentence); `media` is false for a request without images
and documents; `source` is where its words are from, `invented` whether the body, or a part of it, was constructed.
"""

import json
from pathlib import Path
from typing import Any

from opencode_tui.engine.provider import failure
from opencode_tui.engine.provider.error.body import Reported
from opencode_tui.schema.error import ProviderError

CORPUS = Path(__file__).parents[2] / "engine/provider/data/errors.jsonl"
NOW_MS = 1_795_132_800_000
"""Fri, 20 Nov 2026 00:00:00 GMT."""

RETRIED = frozenset({"rate_limit", "overloaded", "timeout", "api", "stream_truncated", "page"})


def error_lines() -> list[dict[str, Any]]:
    """Return the lines of the corpus."""
    return [json.loads(line) for line in CORPUS.read_text().splitlines()]


def error_of(line: dict[str, Any], model_id: str = "", tools: tuple[str, ...] = ()) -> ProviderError:
    """Return the error that a line of the corpus becomes; over HTTP it names the model that was asked, and the rejected tool."""
    provider, status, body = line["provider"], line["status"], line["body"]
    match line.get("via", "http"):
        case "stream":
            return failure.from_stream(provider, json.loads(body), now_ms=NOW_MS)
        case "litellm":
            return failure.from_child(Reported(provider, status=status, message=body), now_ms=NOW_MS)
        case _:
            headers = line.get("headers", {})
            media = line.get("media", True)
            reported = Reported(
                provider, status=status, body=body, headers=headers, model_id=model_id, has_media=media, tools=tools
            )
            return failure.from_response(reported, now_ms=NOW_MS)
