"""The work of `session search`."""

import asyncio
import os
import sys

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.progress_line import progress_line
from opencode_tui.cli.style import Style, Token, style_of
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.schema.api.search import SearchGroup, SearchHit, SearchRequest, SearchResult
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.ids import system_clock
from opencode_tui.text.quantity import age
from opencode_tui.text.safe_text import make_safe
from opencode_tui.text.search import correction, found_words, hit_label, marked, progress, unknown_project

POLL_S = 0.3
"""Seconds between two looks at an index that is being built."""


def search_sessions(query: str, *, limit: int, order: str, style: str) -> int:
    """Print what matches, the newest first; wait until every session is indexed. Return 1 when nothing matches."""
    if not query.strip():
        raise ConfigError('no query given, e.g. opencode-tui session search "retry backoff"')
    request = SearchRequest(query=query, limit=limit, order="relevance" if order == "relevance" else "newest")

    async def work(client: Client) -> SearchResult:
        with progress_line("Searching") as line:
            result = await client.sessions.search(request)
            while not result.is_complete and result.problem is None:
                line.words = progress(result)
                await asyncio.sleep(POLL_S)
                result = await client.sessions.search(request)
        return result

    result = with_client(work)
    if result.problem is not None:
        say(result.problem)
    for one in result.ignored:
        say(f"ignored {one}: not a value that this filter has")
    if style == "json":
        print_json(result.to_dict())
    else:
        _print(result, style_of(sys.stdout, os.environ))
    return 0 if result.groups else 1


def _print(result: SearchResult, style: Style) -> None:
    if result.corrected is not None:
        say(correction(result))
    now = system_clock()
    for group in result.groups:
        sys.stdout.write("\n".join([_head(group, now, style), *(_line(hit, style) for hit in group.hits), ""]) + "\n")
    say(": ".join(filter(None, [found_words(result), unknown_project(result)])))


def _head(group: SearchGroup, now: int, style: Style) -> str:
    title = _painted(group.title or "(no title)", group.marks, style, "bold")
    facts = f"{make_safe(group.session_id)}  {make_safe(group.directory)}  {age(group.updated, now)}"
    return f"{title}\n{style.paint(facts, 'muted')}"


def _line(hit: SearchHit, style: Style) -> str:
    label = style.paint(make_safe(hit_label(hit)), "accent")
    return f"  {label}  {_painted(hit.snippet, hit.marks, style, 'text')}"


def _painted(text: str, marks: list[tuple[int, int]], style: Style, usual: Token) -> str:
    return "".join(
        style.paint(make_safe(style.words(piece)), "warning" if is_match else usual)
        for piece, is_match in marked(text, marks)
    )
