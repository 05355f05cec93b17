"""Finds lines by a regular expression, with the positions of the matches in them, as ripgrep reports them."""

import json
from pathlib import Path

from opencode_tui.engine.tool.search.ripgrep import find_ripgrep, run_search
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.file import LineMatch, LineText, Submatch
from opencode_tui.schema.record import JsonObject

_OPTIONS = ("--no-config", "--json", "--hidden", "--no-require-git", "--no-messages", "--glob=!.git")


async def search_lines(folder: Path, pattern: str, *, limit: int) -> list[LineMatch]:
    """Return up to `limit` matching lines of a folder's files. Raises ToolError for a wrong pattern."""
    ripgrep = find_ripgrep()
    if ripgrep is None:
        raise OpencodeError("searching in files needs ripgrep; install it, or the Python package `ripgrep`")
    found: list[LineMatch] = []

    def consume(records: list[bytes]) -> bool:
        messages = (json.loads(record) for record in records if record)
        found.extend(_match(message["data"]) for message in messages if message["type"] == "match")
        return len(found) < limit

    await run_search([ripgrep, *_OPTIONS, f"--regexp={pattern}", "--", "./"], folder, separator=b"\n", consume=consume)
    return found[:limit]


def _match(data: JsonObject) -> LineMatch:
    return LineMatch(
        path=LineText(text=_text(data["path"]).removeprefix("./")),
        lines=LineText(text=_text(data["lines"])),
        line_number=data["line_number"],
        absolute_offset=data["absolute_offset"],
        submatches=[
            Submatch(match=LineText(text=_text(hit["match"])), start=hit["start"], end=hit["end"])
            for hit in data["submatches"]
        ],
    )


def _text(value: JsonObject) -> str:
    """Return a text of ripgrep; what is no UTF-8 comes from it as base64 and is shown with replacement characters."""
    if "text" in value:
        return value["text"]
    import base64  # only for strange bytes

    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")
