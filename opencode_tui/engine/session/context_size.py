"""Pure: how the tokens of a request are spread over the layers of its system prompt, its tools and the parts of its messages."""

from collections.abc import Sequence

from msgspec import Struct, field

from opencode_tui.engine.provider.stream import LlmRequest, ModelMessage, ToolEntry
from opencode_tui.engine.session.system import SystemLayer
from opencode_tui.engine.session.tokens.estimate import Block, ModelEstimate

PROGRAM = ""
"""The part id under which stands what the program itself adds to the messages."""


class RequestSizes(Struct, frozen=True):
    """Tokens of a request: of each layer in its order, of what plugins put into the system prompt, of the tools, of each part."""

    layers: tuple[float, ...]
    plugin: float
    tools: float
    parts: dict[str, float] = field(default_factory=dict[str, float])


def measure(request: LlmRequest, layers: Sequence[SystemLayer], estimate: ModelEstimate) -> RequestSizes:
    """Return how the tokens of a request are spread; each message's frame counts to its first part."""
    live, added = split_system(request.system, layers)
    frame = estimate.request_frame
    sizes = [estimate.text(layer.text) if is_live else 0.0 for layer, is_live in zip(layers, live, strict=True)]
    if sizes:
        sizes[0] += frame
    return RequestSizes(
        layers=tuple(sizes),
        plugin=(0.0 if sizes else frame) + (estimate.text(added) if added else 0.0),
        tools=sum(estimate.tool(tool) for tool in request.tools),
        parts=part_sizes(request.messages, estimate),
    )


def part_sizes(messages: Sequence[ModelMessage], estimate: ModelEstimate) -> dict[str, float]:
    """Return the tokens of each part in messages; what has no part stands under `PROGRAM`."""
    sizes: dict[str, float] = {}
    for entry in messages:
        blocks: Sequence[Block] = entry.results if isinstance(entry, ToolEntry) else entry.content
        for index, block in enumerate(blocks):
            size = estimate.block(block)
            if index == 0 and not isinstance(entry, ToolEntry):
                size += estimate.message_frame
            name = block.part or PROGRAM
            sizes[name] = sizes.get(name, 0.0) + size
    return sizes


def split_system(segments: Sequence[str], layers: Sequence[SystemLayer]) -> tuple[list[bool], str]:
    """Return which layers stand in the system prompt as they are, and the text in it that comes from none of them."""
    rest, live = "\n\n".join(segments), list[bool]()
    for layer in layers:
        text = layer.text.strip()
        before, found, after = rest.partition(text)
        live.append(bool(text and found))
        if text and found:
            rest = f"{before}\n{after}"
    return live, rest.strip()
