"""Pure: the next request of a session, item by item: what each takes, what is left out of it, and why.

Items come in the request's order: the system prompt, the tools, the messages. What a summary stands for follows the summary, what
an undo hides comes last. Parts that are only the program's book-keeping (steps, snapshots, patches, retries) never go to a model
and are no items.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Required, TypedDict

from msgspec import Struct

from opencode_tui.engine.provider.stream import LlmRequest, MediaBlock, UserEntry
from opencode_tui.engine.session.context_item import describe, first_line, why_ignored, why_live
from opencode_tui.engine.session.context_size import PROGRAM, measure, part_sizes
from opencode_tui.engine.session.history import compaction_of
from opencode_tui.engine.session.media import media_blocks
from opencode_tui.engine.session.model_message import PRUNED_OUTPUT, to_model_messages
from opencode_tui.engine.session.request_builder import BuiltRequest
from opencode_tui.engine.session.tokens.estimate import ModelEstimate
from opencode_tui.schema.context import ContextItem, ContextState
from opencode_tui.schema.history import MessageWithParts, with_parts
from opencode_tui.schema.message import AssistantMessage
from opencode_tui.schema.part import AnyPart, TextPart, ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted, restore

_PRUNED = "its output was pruned: `session restore` brings it back, the model reads it with recall"
_KEPT = "kept by the program, whatever the summary says"
_LEFT_BEHIND = "left behind by a compaction that came to nothing"
_OURS = "added by the program to this request"
_PLUGINS = "put in by a plugin"


class ContextSources(Struct, frozen=True):
    """What the items are read from.

    `stored` are all messages of the session; `visible` those that no undo hides, `sent` those of them that the model is given.
    `estimate` gives the tokens of each piece.
    """

    built: BuiltRequest
    stored: Sequence[MessageWithParts]
    visible: Sequence[MessageWithParts]
    sent: Sequence[MessageWithParts]
    estimate: ModelEstimate


class _Line(Struct, frozen=True):
    """A message at its place in the list, its state, and why it has it."""

    message: MessageWithParts
    state: ContextState = "live"
    why: str | None = None


def context_items(sources: ContextSources) -> list[ContextItem]:
    """Return the items."""
    request, layers = sources.built.request, sources.built.layers
    sizes = measure(request, layers, sources.estimate)
    parts = _Parts(sources, sizes.parts)
    items = [*_system(sources.built, sizes.layers, sizes.plugin)]
    if request.tools:
        names = ", ".join(tool.name for tool in request.tools)
        head = f"{len(request.tools)} definitions"
        items.append(ContextItem(kind="tools", group="system", name=head, why=names, tokens=round(sizes.tools)))
    items += [item for line in _lines(sources) for item in parts.of(line)]
    items += parts.added()
    total = sum(item.tokens for item in items)
    return [item.changed(share=round(item.tokens / total, 4)) if item.tokens else item for item in items]


def _system(built: BuiltRequest, sizes: Sequence[float], plugin: float) -> Iterator[ContextItem]:
    for layer, size in zip(built.layers, sizes, strict=True):
        kind = "system" if layer.kind in ("message", "form") else layer.kind
        item = ContextItem(kind=kind, group="system", name=layer.name, tokens=round(size))
        yield item if size else item.changed(state="ignored", why="changed or taken out by a plugin")
    if plugin:
        yield ContextItem(kind="plugin", group="system", name="plugins", why=_PLUGINS, tokens=round(plugin))


def _lines(sources: ContextSources) -> Iterator[_Line]:
    """Yield the messages in the order of the list."""
    places = {message.info.id: place for place, message in enumerate(sources.stored)}
    sent = {message.info.id for message in sources.sent}
    heads = [one for one in sources.sent if compaction_of(one) is not None or _is_summary(one)]
    boundary = max((places.get(one.info.id, 0) for one in heads), default=-1)
    unsent = [one for one in sources.visible if one.info.id not in sent]
    head_ids = {one.info.id for one in heads}
    yield from map(_Line, heads)
    for message in unsent:
        if places[message.info.id] < boundary:
            yield _Line(message, "summarised", "before the newest summary")
    rest = [_Line(one) for one in sources.sent if one.info.id not in head_ids]
    rest += [_Line(one, "ignored", _LEFT_BEHIND) for one in unsent if places[one.info.id] >= boundary]
    yield from sorted(rest, key=lambda line: places.get(line.message.info.id, len(places)))
    yield from _hidden(sources)


def _hidden(sources: ContextSources) -> Iterator[_Line]:
    """Yield what an undo hides: the rest of a message that stays in part, then whole messages."""
    shown = {message.info.id: {part.id for part in message.parts} for message in sources.visible}
    for message in sources.stored:
        kept = shown.get(message.info.id, set[str]())
        gone = [part for part in message.parts if part.id not in kept]
        if message.info.id not in shown or (gone and len(kept) < len(message.parts)):
            yield _Line(with_parts(message.info, gone), "reverted", "undone: `session unrevert` brings it back")


class _Standing(TypedDict, total=False):
    """What becomes of a part in the request."""

    tokens: int
    state: Required[ContextState]
    why: str | None
    was: int
    frees: int


class _Parts:
    """Makes items of parts; remembers which, so that what nobody stored is left over at the end."""

    def __init__(self, sources: ContextSources, sizes: Mapping[str, float]) -> None:
        self._sources = sources
        self._sizes = sizes
        self._model = sources.built.request.model
        self._texts = _texts_of(sources.built.request)
        self._listed: set[str] = set()

    def of(self, line: _Line) -> Iterator[ContextItem]:
        """Yield the items of a message."""
        was = {} if line.state == "live" else self._whole(line.message)
        is_marker = compaction_of(line.message) is not None
        for part in line.message.parts:
            described = describe(part, line.message.info, is_marker=is_marker)
            if described is None:
                continue
            self._listed.add(part.id)
            if line.state != "live":
                standing = _Standing(state=line.state, why=line.why, was=round(was.get(part.id, 0.0)))
            elif part.id not in self._sizes:
                standing = _Standing(state="ignored", why=why_ignored(part, line.message.info, self._model))
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
        """Yield what stands in the request's messages and is stored nowhere."""
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

    def _sent(self, part: AnyPart, tokens: int, *, is_marker: bool) -> "_Standing":
        """Return how a part stands that is sent."""
        if isinstance(part, TextPart) and is_marker and part.synthetic:
            return _Standing(tokens=tokens, state="kept", why=_KEPT)
        live = _Standing(tokens=tokens, state="live", why=why_live(part, text=self._texts.get(part.id, "")))
        if not (isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)):
            return live
        freed = round(self._freed(part, part.state))
        if part.state.time.compacted is not None:
            return _Standing(tokens=tokens, state="pruned", why=_PRUNED, was=tokens + freed)
        if freed > 0:
            live["frees"] = freed
        return live

    def _freed(self, part: ToolPart, state: ToolStateCompleted) -> float:
        """Return what an output takes beyond the words that stand for it when it is pruned."""
        estimate = self._sources.estimate
        size = estimate.text(state.output.strip()) - estimate.text(PRUNED_OUTPUT)
        for file in state.attachments or []:
            blocks = media_blocks(
                str(file.get("mime", "")), str(file.get("url", "")), file.get("filename"), self._model
            )
            size += sum(map(estimate.block, blocks))
        return size

    def _whole(self, message: MessageWithParts) -> dict[str, float]:
        """Return what the parts of a message take by themselves when nothing of it is pruned."""
        parts = [
            part.changed(state=restore(part.state))
            if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)
            else part
            for part in message.parts
        ]
        entries = to_model_messages([with_parts(message.info, parts)], self._model)
        return part_sizes(entries, self._sources.estimate)


def _is_summary(message: MessageWithParts) -> bool:
    return isinstance(message.info, AssistantMessage) and bool(message.info.summary)


def _texts_of(request: LlmRequest) -> dict[str, str]:
    """Return the text of each part of what the person said, as it is sent."""
    return {
        block.part or PROGRAM: "" if isinstance(block, MediaBlock) else block.text
        for entry in request.messages
        if isinstance(entry, UserEntry)
        for block in entry.content
    }
