"""Pure: the next request of a session, item by item: the size of each, what is not sent, and why.

Items come in the request's order: the system prompt, the tools, the messages. Summarized messages follow the summary, messages that
an undo hides come last. Parts for bookkeeping only (steps, snapshots, patches, retries) are never sent to a model
and are not items.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple, Required, TypedDict

from msgspec import Struct, field

from opencode_tui.engine.provider.llm import LlmRequest, MediaBlock, ModelMessage, ToolEntry, ToolSpec, UserEntry
from opencode_tui.engine.session.compaction.prune import KEEP
from opencode_tui.engine.session.request.builder import BuiltRequest, SystemLayer
from opencode_tui.engine.session.request.history import compaction_of
from opencode_tui.engine.session.request.media import media_blocks
from opencode_tui.engine.session.request.model_message import PRUNED_OUTPUT, to_model_messages
from opencode_tui.engine.session.tokens.estimate import Block, ModelEstimate
from opencode_tui.schema.api.context import ContextGroup, ContextItem, ContextKind, ContextState
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    CompactionPart,
    FilePart,
    ReasoningPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.stored_error import StoredAbortedError, keeps_answer
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning, restore
from opencode_tui.schema.tools import row_of

# One part of a message as an item of the context: its kind, its name, and why it may not be sent.

NAME_LENGTH = 100
"""Characters of an item's name."""

_EXPANDED = ("text/plain", "application/x-directory")


class Description(NamedTuple):
    """The kind and name of a part."""

    kind: ContextKind
    group: ContextGroup
    name: str


def describe(part: AnyPart, info: AnyMessage, *, is_marker: bool) -> Description | None:
    """Return the description of a part, None for bookkeeping; `is_marker` when its message marks a compaction."""
    is_summary = isinstance(info, AssistantMessage) and info.summary
    match part:
        case TextPart() if is_summary:
            return Description("summary", "summary", first_line(part.text))
        case TextPart() if is_marker:
            return Description("marker", "summary", first_line(part.text))
        case TextPart() if part.synthetic and info.role == "user":
            return Description("added", "messages", first_line(part.text))
        case TextPart():
            return Description("request" if info.role == "user" else "answer", "messages", first_line(part.text))
        case ReasoningPart():
            return Description("thought", "summary" if is_summary else "messages", first_line(part.text))
        case ToolPart():
            return Description("call", "outputs", _call_name(part))
        case FilePart():
            return Description("file", "messages", part.filename or part.mime)
        case SubtaskPart():
            return Description("subtask", "messages", f"{part.agent}: {first_line(part.description or part.prompt)}")
        case CompactionPart():
            return Description("marker", "summary", "the history was summarized here")
        case _:
            return None


def sent_reason(part: AnyPart, *, text: str) -> str | None:
    """Return the remark on a part that is sent; `text` is its text in the request."""
    if isinstance(part, ToolPart):
        if isinstance(part.state, ToolStateCompleted) and part.state.metadata.get(KEEP):
            return "restored by you; pruning skips it"
        if not isinstance(part.state, ToolStateCompleted | ToolStateError):
            return "not finished; sent as interrupted"
    if isinstance(part, FilePart) and " left out: " in text:
        return text.strip("[]").partition(" left out: ")[2]
    return None


def unsent_reason(part: AnyPart, info: AnyMessage, model: Model) -> str:
    """Return why a part is not sent."""
    error = info.error if isinstance(info, AssistantMessage) else None
    if not keeps_answer(error) and not isinstance(error, StoredAbortedError):
        return "the answer failed"
    match part:
        case TextPart() if part.ignored:
            return "only for you"
        case TextPart() if not part.text.strip():
            return "empty"
        case ReasoningPart() if not part.metadata:
            return "its provider accepts no reasoning back"
        case ReasoningPart() if isinstance(info, AssistantMessage) and _is_other(info, model):
            return f"reasoning of another model, {info.provider_id}/{info.model_id}"
        case ReasoningPart():
            return "nothing follows it"
        case FilePart() if part.mime in _EXPANDED:
            return "its text is sent as a part of its own"
        case _:
            return "it has no content that can be sent"


def first_line(text: str) -> str:
    """Return the first line of a text that is not blank, cut to the length of a name."""
    line = next((line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("<")), "")
    line = line or text.strip().partition("\n")[0]
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def _call_name(part: ToolPart) -> str:
    state = part.state
    command = (
        state.input.get("command") if row_of(part.tool).result == "command" else None
    )  # its title is the model's description
    title = state.title if isinstance(state, ToolStateCompleted | ToolStateRunning) else None
    named = (
        (command if isinstance(command, str) else None)
        or title
        or next((value for value in state.input.values() if isinstance(value, str)), "")
    )
    return first_line(named)


def _is_other(info: AssistantMessage, model: Model) -> bool:
    return (info.provider_id, info.model_id) != (model.provider_id, model.model_id)


# The tokens of a request by layer of its system prompt, by tool and by part of its messages.

PROGRAM = ""
"""The part id for what the program itself adds to the messages."""


class RequestSizes(Struct, frozen=True):
    """Tokens of a request: by layer in order, of what plugins added to the system prompt, by tool in order, by part."""

    layers: tuple[float, ...]
    plugin: float
    tools: tuple[float, ...]
    parts: dict[str, float] = field(default_factory=dict[str, float])


def measure(request: LlmRequest, layers: Sequence[SystemLayer], estimate: ModelEstimate) -> RequestSizes:
    """Return the tokens of a request by piece; each message's frame counts with its first part."""
    sent, added = split_system(request.system, layers)
    frame = estimate.request_frame
    sizes = [estimate.text(layer.text) if is_sent else 0.0 for layer, is_sent in zip(layers, sent, strict=True)]
    if sizes:
        sizes[0] += frame
    return RequestSizes(
        layers=tuple(sizes),
        plugin=(0.0 if sizes else frame) + (estimate.text(added) if added else 0.0),
        tools=tuple(estimate.tool(tool) for tool in request.tools),
        parts=part_sizes(request.messages, estimate),
    )


def part_sizes(messages: Sequence[ModelMessage], estimate: ModelEstimate) -> dict[str, float]:
    """Return the tokens of each part in messages; content without a part counts under `PROGRAM`."""
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
    """Return for each layer whether the system prompt contains it unchanged, and the text in it that comes from no layer."""
    rest, sent = "\n\n".join(segments), list[bool]()
    for layer in layers:
        text = layer.text.strip()
        before, found, after = rest.partition(text)
        sent.append(bool(text and found))
        if text and found:
            rest = f"{before}\n{after}"
    return sent, rest.strip()


_PRUNED = "its output was pruned: `session restore` restores it, the model can read it with recall"
_KEPT = "preserved by the program, independent of the summary"
_LEFT_BEHIND = "left by a compaction that failed"
_OLDER = "before the summaries; the chat shows them, the model finds words in them with recall"
_OURS = "added by the program to this request"
_PLUGINS = "added by a plugin"


class ContextSources(Struct, frozen=True):
    """The input of `context_items`.

    `stored` are all messages of the session, `visible` those that no undo hides, `sent` those of them that are sent to the model.
    `estimate` returns the tokens of each piece. `older` is how many messages, all summarized, come before the stored ones given.
    """

    built: BuiltRequest
    stored: Sequence[MessageWithParts]
    visible: Sequence[MessageWithParts]
    sent: Sequence[MessageWithParts]
    estimate: ModelEstimate
    older: int = 0


class _Line(Struct, frozen=True):
    """A message in the order of the list, its state, and the reason of the state."""

    message: MessageWithParts
    state: ContextState = "sent"
    why: str | None = None


def context_items(sources: ContextSources) -> list[ContextItem]:
    """Return the items."""
    request, layers = sources.built.request, sources.built.layers
    sizes = measure(request, layers, sources.estimate)
    parts = _Parts(sources, sizes.parts)
    items = [*_system(sources.built, sizes.layers, sizes.plugin)]
    items += _tools(request.tools, sizes.tools)
    lines = list(_lines(sources))
    heads = sum(1 for _ in takewhile(lambda line: line.state == "sent" and _is_head(line.message), lines))
    items += [item for line in lines[:heads] for item in parts.of(line)]
    if sources.older:
        items.append(_older(sources.older))
    items += [item for line in lines[heads:] for item in parts.of(line)]
    items += parts.added()
    total = sum(item.tokens for item in items)
    return [item.changed(share=round(item.tokens / total, 4)) if item.tokens else item for item in items]


def _older(count: int) -> ContextItem:
    """Return the item for the messages before those that are listed one by one."""
    name = f"{count:,} messages before these"
    return ContextItem(kind="older", group="messages", name=name, state="summarized", why=_OLDER)


def _tools(tools: Sequence[ToolSpec], sizes: Sequence[float]) -> Iterator[ContextItem]:
    """Yield an item for the program's own tools, then one for each MCP server whose tools are sent one by one."""
    groups: dict[str, list[tuple[ToolSpec, float]]] = {}
    for tool, size in zip(tools, sizes, strict=True):
        groups.setdefault(tool.server, []).append((tool, size))
    for server, group in groups.items():
        name = f"{len(group)} definition{'' if len(group) == 1 else 's'}"
        yield ContextItem(
            kind="tools",
            group="system",
            name=f"{name} of the MCP server {server}" if server else name,
            why=", ".join(tool.name for tool, _ in group),
            tokens=round(sum(size for _, size in group)),
        )


def _system(built: BuiltRequest, sizes: Sequence[float], plugin: float) -> Iterator[ContextItem]:
    for layer, size in zip(built.layers, sizes, strict=True):
        kind = "system" if layer.kind in ("message", "form") else layer.kind
        item = ContextItem(kind=kind, group="system", name=layer.name, tokens=round(size))
        yield item if size else item.changed(state="unsent", why="changed or removed by a plugin")
    if plugin:
        yield ContextItem(kind="plugin", group="system", name="plugins", why=_PLUGINS, tokens=round(plugin))


def _lines(sources: ContextSources) -> Iterator[_Line]:
    """Yield the messages in the order of the list."""
    places = {message.info.id: place for place, message in enumerate(sources.stored)}
    sent = {message.info.id for message in sources.sent}
    heads = [one for one in sources.sent if _is_head(one)]
    boundary = max((places.get(one.info.id, 0) for one in heads), default=-1)
    unsent = [one for one in sources.visible if one.info.id not in sent]
    head_ids = {one.info.id for one in heads}
    yield from map(_Line, heads)
    for message in unsent:
        if places[message.info.id] < boundary:
            yield _Line(message, "summarized", "before the newest summary")
    rest = [_Line(one) for one in sources.sent if one.info.id not in head_ids]
    rest += [_Line(one, "unsent", _LEFT_BEHIND) for one in unsent if places[one.info.id] >= boundary]
    yield from sorted(rest, key=lambda line: places.get(line.message.info.id, len(places)))
    yield from _hidden(sources)


def _hidden(sources: ContextSources) -> Iterator[_Line]:
    """Yield what an undo hides: the hidden parts of a message that stays, then whole messages."""
    shown = {message.info.id: {part.id for part in message.parts} for message in sources.visible}
    for message in sources.stored:
        kept = shown.get(message.info.id, set[str]())
        gone = [part for part in message.parts if part.id not in kept]
        if message.info.id not in shown or (gone and len(kept) < len(message.parts)):
            yield _Line(with_parts(message.info, gone), "reverted", "undone: `session unrevert` restores it")


class _PartState(TypedDict, total=False):
    """The state of a part in the request."""

    tokens: int
    state: Required[ContextState]
    why: str | None
    was: int
    frees: int


class _Parts:
    """Makes items of parts; remembers which, so that `added` can yield content that is not stored."""

    def __init__(self, sources: ContextSources, sizes: Mapping[str, float]) -> None:
        self._sources = sources
        self._sizes = sizes
        self._model = sources.built.request.model
        self._texts = _texts_of(sources.built.request)
        self._listed: set[str] = set()

    def of(self, line: _Line) -> Iterator[ContextItem]:
        """Yield the items of a message."""
        was = {} if line.state == "sent" else self._whole(line.message)
        is_marker = compaction_of(line.message) is not None
        for part in line.message.parts:
            described = describe(part, line.message.info, is_marker=is_marker)
            if described is None:
                continue
            self._listed.add(part.id)
            if line.state != "sent":
                standing = _PartState(state=line.state, why=line.why, was=round(was.get(part.id, 0.0)))
            elif part.id not in self._sizes:
                standing = _PartState(state="unsent", why=unsent_reason(part, line.message.info, self._model))
            else:
                standing = self._sent(part, round(self._sizes[part.id]), is_marker=is_marker)
            yield ContextItem(
                kind=described.kind,
                group=described.group,
                name=described.name,
                message_id=line.message.info.id,
                part_id=part.id,
                tool=part.tool if isinstance(part, ToolPart) else None,
                time=line.message.info.time.created,
                **standing,
            )

    def added(self) -> Iterator[ContextItem]:
        """Yield the content of the request's messages that is not stored."""
        for name, size in self._sizes.items():
            if name not in self._listed:
                is_ours = name == PROGRAM or name.endswith("_reminder")
                yield ContextItem(
                    kind="added" if is_ours else "plugin",
                    group="messages",
                    name=first_line(self._texts.get(name, "")),
                    why=_OURS if is_ours else _PLUGINS,
                    tokens=round(size),
                )

    def _sent(self, part: AnyPart, tokens: int, *, is_marker: bool) -> "_PartState":
        """Return the state of a part that is sent."""
        if isinstance(part, TextPart) and is_marker and part.synthetic:
            return _PartState(tokens=tokens, state="kept", why=_KEPT)
        sent = _PartState(tokens=tokens, state="sent", why=sent_reason(part, text=self._texts.get(part.id, "")))
        if not (isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)):
            return sent
        freed = round(self._freed(part, part.state))
        if part.state.time.compacted is not None:
            return _PartState(tokens=tokens, state="pruned", why=_PRUNED, was=tokens + freed)
        if freed > 0:
            sent["frees"] = freed
        return sent

    def _freed(self, part: ToolPart, state: ToolStateCompleted) -> float:
        """Return the tokens that pruning an output saves."""
        estimate = self._sources.estimate
        size = estimate.text(state.output.strip()) - estimate.text(PRUNED_OUTPUT)
        for file in state.attachments or []:
            blocks = media_blocks(
                str(file.get("mime", "")), str(file.get("url", "")), file.get("filename"), self._model
            )
            size += sum(map(estimate.block, blocks))
        return size

    def _whole(self, message: MessageWithParts) -> dict[str, float]:
        """Return the tokens of each part of a message when nothing of it is pruned."""
        parts = [
            part.changed(state=restore(part.state))
            if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)
            else part
            for part in message.parts
        ]
        entries = to_model_messages([with_parts(message.info, parts)], self._model)
        return part_sizes(entries, self._sources.estimate)


def _is_head(message: MessageWithParts) -> bool:
    """Return whether a message is the marker of a compaction or its summary."""
    return compaction_of(message) is not None or _is_summary(message)


def _is_summary(message: MessageWithParts) -> bool:
    return isinstance(message.info, AssistantMessage) and bool(message.info.summary)


def _texts_of(request: LlmRequest) -> dict[str, str]:
    """Return the text of each part of user messages as it is sent."""
    return {
        block.part or PROGRAM: "" if isinstance(block, MediaBlock) else block.text
        for entry in request.messages
        if isinstance(entry, UserEntry)
        for block in entry.content
    }
