"""Paths with a line in answers and output, as links that open the file there: `src/parser.py:14`, an entry of a stack trace."""

import os
import re
from collections.abc import Iterator
from functools import cache

from rich.style import Style

from opencode_tui.tui.conversation.line import RenderContext, Span
from opencode_tui.tui.output.hyperlink import linked_file

_PLACE = (
    r"(?<![\w/:.@+-])(?P<path>(?:~?/|\.{1,2}/)?[\w@+-][\w@+./-]{0,300}\.[A-Za-z]\w{0,11}):(?P<line>\d{1,7})(?::\d{1,5})?(?![\w/])"
    r'|\bFile "(?P<quoted>[^"]{1,500})", line (?P<number>\d{1,7})'
)


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_PLACE)  # with the first line that may have one


def place_spans(text: str, style: Style, page: RenderContext) -> Iterator[Span]:
    """Yield a safe text with the places in it as links; whether their files exist is not looked at."""
    at = 0
    for found in _pattern().finditer(text) if page.may_link(text) else ():
        path, line = found["path"] or found["quoted"], int(found["line"] or found["number"])
        whole = os.path.normpath(os.path.join(page.root, os.path.expanduser(path)))
        linked = linked_file(style, whole, page.host, line=line, form=page.link_form)
        if linked is not style:
            if found.start() > at:
                yield text[at : found.start()], style
            yield found.group(), linked
            at = found.end()
    if at < len(text) or not text:
        yield text[at:], style
