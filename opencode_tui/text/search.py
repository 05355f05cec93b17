"""Texts of search results, for the TUI and the command line."""

from collections.abc import Sequence
from datetime import datetime

from opencode_tui.schema.api.search import SearchHit, SearchResult
from opencode_tui.text.quantity import plural

_KINDS = {"prompt": "prompt", "answer": "answer", "reasoning": "reasoning", "files": "files"}


def progress(result: SearchResult) -> str:
    """Return how much is indexed, such as `indexing 3,200 of 10,000 sessions, newest first`; empty when all is."""
    if result.is_complete:
        return ""
    return f"indexing {result.indexed:,} of {result.sessions:,} sessions, newest first"


def found_words(result: SearchResult) -> str:
    """Return the counts of a result, such as `23 matches in 6 sessions and 2 titles`: sessions where only the title matches."""
    if not result.groups:
        return "no matches" if result.is_complete else "no matches so far"
    sessions = sum(bool(group.count) for group in result.groups)
    titles = len(result.groups) - sessions
    if not sessions:
        return plural(titles, "title")
    matches = f"newest {result.matches:,} matches" if result.is_capped else _matches(result.matches)
    others = f" and {plural(titles, 'title')}" if titles else ""
    return f"{matches} in {sessions:,} {'session' if sessions == 1 else 'sessions'}{others}"


def _matches(number: int) -> str:
    return f"{number:,} {'match' if number == 1 else 'matches'}"


def count_words(number: int) -> str:
    """Return `1 match` or `9 matches`; empty for 0."""
    return _matches(number) if number else ""


def correction(result: SearchResult) -> str:
    """Return the line about a query whose words were replaced by similar ones."""
    return f"no matches for the query; these are for: {result.corrected}"


def unknown_project(result: SearchResult) -> str:
    """Return the line about a project without sessions; empty when there are some."""
    name = result.unknown_project
    return "" if name is None else f"no session is from a project with {name!r} in its folder's name"


def hit_label(hit: SearchHit) -> str:
    """Return the tool or the kind of a hit; not safe."""
    return hit.tool or _KINDS.get(hit.kind, hit.kind)


def hit_clock(hit: SearchHit) -> str:
    """Return the local time of a hit as `14:02`; empty for a time out of range."""
    try:
        return datetime.fromtimestamp(hit.time / 1000).strftime("%H:%M") if hit.time else ""
    except (OverflowError, ValueError, OSError):
        return ""


def marked(text: str, marks: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    """Return the pieces of a text, each with whether it is a match; wrong marks are left out."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    for start, end in marks:
        if at <= start < end <= len(text):
            pieces += [(text[at:start], False), (text[start:end], True)]
            at = end
    pieces.append((text[at:], False))
    return [piece for piece in pieces if piece[0]]
