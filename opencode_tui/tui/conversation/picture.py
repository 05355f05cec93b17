"""Draws a picture of a message or a call: its name and size, and below that what the terminal can show of it."""

from collections.abc import Iterator

from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.conversation.line import BODY, RenderContext, Span
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.pictures.source import PictureSource
from opencode_tui.tui.state.items import Item

COLUMNS, ROWS = 48, 12
"""The most cells of a picture between texts; its page shows it larger."""


def picture_rows(
    source: PictureSource, item: Item, page: RenderContext, scene: ViewState, tone: str, *, is_named: bool = True
) -> Iterator[list[Span]]:
    """Yield the rows of a picture, from its first column on; its name alone while it is read."""
    columns = min(COLUMNS, page.right - BODY + 1)
    form = scene.pictures(source, columns, ROWS, item) if scene.pictures is not None else None
    muted = page.style("muted", tone)
    name = screen_line(source.name) if is_named else ""
    facts = [(f"{'  ' if name else ''}{form.facts}", muted)] if form is not None else []
    if name or facts:
        yield [(name, page.style("text", tone)), *facts]
    for row in form.rows if form is not None and not page.is_cut else ():
        yield [(text, style if style is not None else page.area(tone)) for text, style, _ in row]
