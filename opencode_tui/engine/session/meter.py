"""Measures requests in tokens: the calibrated estimate, loaded when something is first measured.

The first request of a run is sent before anything need be known of its size, so nothing here may hold it up.
"""

import asyncio
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.provider.stream import CallBlock, LlmRequest, MediaBlock, ResultBlock, ToolEntry
from opencode_tui.schema.message import Tokens

if TYPE_CHECKING:
    from opencode_tui.engine.session.calibration import Calibration

_MOST = 3
"""Tokens that a character beyond ASCII takes at the most; one of ASCII takes one."""
_FRAME = 20
"""Tokens around a message or a call at the most."""


class TokenMeter:
    """What the loop asks about sizes; `folder` keeps what was learned."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def calibration(self) -> "Calibration":
        """The estimate itself."""
        from opencode_tui.engine.session.calibration import Calibration  # not before the first request is sent

        return Calibration(folder=self._folder)

    def size(self, request: LlmRequest, *, beyond: int | None = None) -> int:
        """Return the tokens that a request will take, without the answer.

        With `beyond` only sizes above it matter: a request that cannot be larger, however it is counted, gives 0.
        """
        if beyond is not None and _bound(request) <= beyond:
            return 0
        return self.calibration.estimate(request)

    async def observe(self, request: LlmRequest, tokens: Tokens) -> None:
        """Learn from what the provider reported of a request; the files are written in a thread."""
        if tokens.prompt > 0:
            await asyncio.to_thread(lambda: self.calibration.observe(request, tokens))


def _bound(request: LlmRequest) -> int:
    """Return more tokens than a request can take; without limit when it holds media."""
    total = 0
    for text in _texts(request):
        if text is None:
            return 1 << 60
        total += _FRAME + (len(text) if text.isascii() else _MOST * len(text))
    return total


def _texts(request: LlmRequest) -> Iterator[str | None]:
    """Yield every text of a request, None for what is no text."""
    yield from request.system
    for tool in request.tools:
        yield f"{tool.name}{tool.description}{json.dumps(tool.parameters, ensure_ascii=False)}"
    for entry in request.messages:
        blocks = entry.results if isinstance(entry, ToolEntry) else entry.content
        for block in blocks:
            match block:
                case MediaBlock():
                    yield None
                case CallBlock():
                    yield f"{block.tool}{json.dumps(block.input, ensure_ascii=False)}"
                case ResultBlock():
                    yield None if block.media else block.text
                case _:
                    yield block.text
