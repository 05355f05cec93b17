"""Pure: a request as the counts that its tokens depend on, block by block and altogether."""

import json
from collections.abc import Callable

from opencode_tui.engine.provider.stream import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    MediaBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    ToolSpec,
    UserEntry,
)
from opencode_tui.engine.session.text_shape import TEXT_COUNTS, TextShape

FRAME_COUNTS = ("requests", "messages", "calls", "schema", "thoughts", "media")
"""What stands around the texts: the request, its messages, calls and their results; then tokens by a rule of what providers count
in ways of their own: the tools' schemas, earlier thoughts, pictures and documents.
"""

COUNTS = (*TEXT_COUNTS, *FRAME_COUNTS)
"""All counts of a shape, in their order."""

Shape = tuple[float, ...]
"""The counts of a piece of a request, in the order of `COUNTS`."""

Block = TextBlock | MediaBlock | ThinkingBlock | CallBlock | ResultBlock
"""A piece of a message."""

NOTHING: Shape = (0.0,) * len(COUNTS)
MESSAGE: Shape = tuple(float(name == "messages") for name in COUNTS)
REQUEST: Shape = tuple(float(name in ("requests", "messages")) for name in COUNTS)
"""An empty request; the system prompt counts as a message."""

_TOOL = 12.0
"""Tokens of the words around a tool's name, description and schema."""

_NO_TEXT: TextShape = (0,) * len(TEXT_COUNTS)


def add(one: Shape, other: Shape) -> Shape:
    """Return the shape of both together."""
    return tuple(map(float.__add__, one, other))


class ShapeReader:
    """Reads shapes for one model.

    `of_text` counts a text, `of_media` gives a picture's tokens, `plain` weighs a counted text without regard to the model.
    """

    def __init__(
        self,
        *,
        of_text: Callable[[str], TextShape],
        of_media: Callable[[MediaBlock], float],
        plain: Callable[[TextShape], float],
    ) -> None:
        self._of_text = of_text
        self._of_media = of_media
        self._plain = plain

    def request(self, request: LlmRequest) -> Shape:
        """Return the shape of a whole request."""
        shape = REQUEST
        for segment in request.system:
            shape = add(shape, self.text(segment))
        for tool in request.tools:
            shape = add(shape, self.tool(tool))
        for entry in request.messages:
            blocks = entry.results if isinstance(entry, ToolEntry) else entry.content
            shape = add(shape, MESSAGE if isinstance(entry, UserEntry | AssistantEntry) else NOTHING)
            for block in blocks:
                shape = add(shape, self.block(block))
        return shape

    def text(self, text: str) -> Shape:
        """Return the shape of a text."""
        return (*map(float, self._of_text(text)), *(0.0,) * len(FRAME_COUNTS))

    def tool(self, tool: ToolSpec) -> Shape:
        """Return the shape of a tool's description and schema."""
        schema = json.dumps(tool.parameters, ensure_ascii=False)
        return _frame(schema=_TOOL + self._plain(self._of_text(f"{tool.name} {tool.description} {schema}")))

    def block(self, block: Block) -> Shape:
        """Return the shape of a piece of a message."""
        match block:
            case TextBlock():
                return self.text(block.text)
            case MediaBlock():
                return _frame(media=self._of_media(block))
            case ThinkingBlock():
                return _frame(thoughts=self._plain(self._of_text(block.text)))
            case CallBlock():
                given = json.dumps(block.input, ensure_ascii=False)
                return add(self.text(f"{block.tool} {given}"), _frame(calls=1))
            case ResultBlock():
                media = sum(map(self._of_media, block.media))
                return add(self.text(block.text), _frame(calls=1, media=media))


def _frame(*, calls: float = 0, schema: float = 0, thoughts: float = 0, media: float = 0) -> Shape:
    return (*map(float, _NO_TEXT), 0.0, 0.0, float(calls), float(schema), float(thoughts), float(media))
