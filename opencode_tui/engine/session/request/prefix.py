"""Keep what a session's requests start with the same: its system text and its tools, from the first request on.

A provider bills what a request has in common with the start of an earlier one at about a tenth of the price. So what changes later
(an instruction file, the date, a server's tools, a switched-off tool) is announced once, in a part of the newest request, which is
stored and therefore the same in all later requests. A compaction freezes a new start, as what it replaces is billed again anyway.

The text of the instruction files is the same for all models and agents of a session; all else is frozen for each of them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct

from opencode_tui.engine.mcp.names import CALL, SEARCH
from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.engine.session.request.reminder import (
    Announcement,
    Reminder,
    announcements,
    as_reminder,
    is_unanswered,
    mode_reminder,
    reminder_part,
    with_parts_added,
)
from opencode_tui.schema.ids import Clock, Identifier, is_before
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.prefix import FrozenLayer, FrozenPrefix, FrozenTool, SessionPrefix

INSTRUCTION = "instruction"
"""The kind of the layers that are the same for all models and agents of a session."""

ENVIRONMENT = "environment"
"""The kind of the layer with the facts of the folder and the date."""

MAX_SCHEMAS = 12_000
"""Characters of tools in one announcement; further ones are only named: a call that does not fit is answered with the schema."""

_OFF = "off"
_SERVER_TOOL = "tool"
_HEAD = "Since this conversation started, the following has changed. It applies from now on."


class Start(Struct, frozen=True):
    """What a request would start with if nothing were frozen.

    `tools` are those that the rules allow, `off` the names of those that they deny; `servers` are the tools of MCP servers by name.
    """

    layers: Sequence[FrozenLayer]
    tools: Sequence[ToolSpec]
    off: frozenset[str] = frozenset()
    servers: Mapping[str, ToolSpec] = {}


class PrefixTask(Struct, frozen=True):
    """A request whose start is wanted: for the agent `name`; `agent` is empty for all that have no prompt of their own.

    With `is_preview` nothing is stored.
    """

    session_id: str
    directory: str
    name: str
    agent: str
    model: str
    messages: Sequence[MessageWithParts]
    is_preview: bool = False


class Change(NamedTuple):
    """A fact that differs from the frozen start and the announcements: its name, its mark (None: gone), and what is said of it."""

    name: str
    mark: str | None
    text: str


class Prefix(Struct, frozen=True):
    """The start of a request, and its messages with what was announced.

    `pending` is announced with the next prompt. `frozen` is None in the preview of a session that has sent no request.
    """

    layers: Sequence[FrozenLayer]
    tools: Sequence[ToolSpec]
    messages: Sequence[MessageWithParts]
    pending: Sequence[Change] = ()
    frozen: FrozenPrefix | None = None


class PrefixPlan(NamedTuple):
    """The start of a request, and what is to be stored before it is sent: the frozen starts, None as they are, and new parts."""

    prefix: Prefix
    stored: SessionPrefix | None = None
    added: Sequence[TextPart] = ()


class SessionPrefixes(Struct, frozen=True):
    """Plans the starts of one folder's sessions. `built_in` returns the program's own tools by name; it may block once."""

    identifier: Identifier
    clock: Clock
    built_in: Callable[[], Mapping[str, ToolSpec]]

    def known(self, task: PrefixTask, stored: SessionPrefix) -> Prefix | None:
        """Return the start of a request that continues a turn, None where a start may have to be frozen or a change announced."""
        frozen = _frozen(task, stored)
        if frozen is None or is_unanswered(task.messages) or task.is_preview:
            return None
        return Prefix(frozen.layers, self._specs(frozen), task.messages, (), frozen)

    def plan(self, task: PrefixTask, stored: SessionPrefix, now: Start) -> PrefixPlan:
        """Return the start of a request, frozen where it was not, and what has changed since, if no answer to it has begun.

        A preview stores nothing.
        """
        frozen, is_new = _frozen(task, stored), is_unanswered(task.messages)
        first = stored.frozen[0] if stored.frozen else None
        used = self._freeze(task, now, first) if frozen is None else self._extended(frozen, now)
        changes = find_changes(used, first or used, now, task.messages)
        if task.is_preview:
            is_frozen = used if stored.frozen else None
            return PrefixPlan(Prefix(used.layers, self._specs(used), task.messages, changes, is_frozen))
        kept = None
        if used is not frozen:
            others = [one for one in stored.frozen if one is not frozen]
            kept = [*others, used] if frozen is None else [used if one is frozen else one for one in stored.frozen]
        added = self._announced(task, changes) if is_new else []
        messages = with_parts_added(task.messages, added) if added else task.messages
        return PrefixPlan(
            Prefix(used.layers, self._specs(used), messages, (), used),
            None if kept is None else stored.changed(frozen=kept),
            added,
        )

    def _freeze(self, task: PrefixTask, now: Start, first: FrozenPrefix | None) -> FrozenPrefix:
        layers = list(now.layers)
        if first is not None:
            rest = [layer for layer in layers if layer.kind != INSTRUCTION]
            layers = [*rest, *(layer for layer in first.layers if layer.kind == INSTRUCTION)]
        return FrozenPrefix.trusted(
            agent=task.agent,
            model=task.model,
            time=self.clock(),
            request=task.messages[-1].info.id if task.messages else None,
            layers=layers,
            tools=[self._stored(tool) for tool in now.tools],
            known=_marks(layers, (), now.servers),
        )

    def _extended(self, frozen: FrozenPrefix, now: Start) -> FrozenPrefix:
        """Return the frozen start with the tools that the model could not call without: the only change of a frozen start."""
        names = {tool.name for tool in frozen.tools}
        reachable = {*now.servers, SEARCH} if CALL in names else set[str]()
        missing = [tool for tool in now.tools if tool.name not in names | reachable]
        if not missing:
            return frozen
        added = {tool.name: tool for tool in missing if tool.name in now.servers}
        known = {**frozen.known, **_marks((), (), added)}
        return frozen.changed(tools=[*frozen.tools, *map(self._stored, missing)], known=known)

    def _stored(self, tool: ToolSpec) -> FrozenTool:
        if self.built_in().get(tool.name) == tool:
            return FrozenTool.trusted(name=tool.name)
        server = tool.server or None
        return FrozenTool.trusted(
            name=tool.name, description=tool.description, parameters=tool.parameters, server=server
        )

    def _specs(self, frozen: FrozenPrefix) -> list[ToolSpec]:
        """Return the tools as they are sent; one of an older version that this one does not have is left out."""
        own, found = self.built_in(), list[ToolSpec]()
        for tool in frozen.tools:
            if tool.description is not None:
                found.append(ToolSpec(tool.name, tool.description, tool.parameters or {}, tool.server or ""))
            elif tool.name in own:
                found.append(own[tool.name])
        return found

    def _announced(self, task: PrefixTask, changes: Sequence[Change]) -> list[TextPart]:
        """Return the parts that announce what has changed, and a changed mode, in the newest request."""
        found = [mode_reminder(task.messages, task.name)]
        if changes:
            text = "\n\n".join([_HEAD, *(change.text for change in changes if change.text)])
            found.append(Reminder(as_reminder(text), {change.name: change.mark for change in changes}))
        request = task.messages[-1].info
        return [
            reminder_part(request, self.identifier.ascending("prt"), reminder, now=self.clock())
            for reminder in found
            if reminder is not None
        ]


def current(task: PrefixTask, stored: SessionPrefix | None) -> SessionPrefix:
    """Return what is stored, without frozen starts that do not hold for this folder and this state of the history."""
    boundary = boundary_of(task.messages)
    if stored is None:
        return SessionPrefix(directory=task.directory, boundary=boundary)
    if (stored.directory, stored.boundary) == (task.directory, boundary):
        return stored
    return stored.changed(directory=task.directory, boundary=boundary, frozen=[])


def _frozen(task: PrefixTask, stored: SessionPrefix) -> FrozenPrefix | None:
    return next((one for one in stored.frozen if (one.agent, one.model) == (task.agent, task.model)), None)


def boundary_of(messages: Sequence[MessageWithParts]) -> str:
    """Return what identifies the summary that a request starts with, also in a fork; empty without one."""
    for message in messages[:2]:
        if isinstance(message.info, AssistantMessage) and message.info.summary:
            return _mark("\n".join(part.text for part in message.parts if isinstance(part, TextPart)))
    return ""


def find_changes(
    frozen: FrozenPrefix, first: FrozenPrefix, now: Start, messages: Sequence[MessageWithParts]
) -> list[Change]:
    """Return the facts that differ from the frozen start and from what messages announced, in the order of the request."""
    names = {tool.name for tool in frozen.tools}
    known, marks = dict(frozen.known), _marks(now.layers, sorted(now.off & names), now.servers)
    since_first, since_frozen = _holds_from(first, messages), _holds_from(frozen, messages)
    for one in announcements(messages):
        for name, mark in one.facts.items():
            if (since_first if name.startswith(f"{INSTRUCTION}:") else since_frozen)(one):
                known.pop(name, None)
                if mark is not None:
                    known[name] = mark
    known.pop("mode", None)
    changed = [name for name in {**marks, **known} if marks.get(name, "") != known.get(name, "")]
    layers = {_name(layer): layer for layer in now.layers}
    before = {_name(layer): layer for layer in [*frozen.layers, *first.layers]}
    found = [
        Change(name, marks.get(name), _layer_text(name, before.get(name), layers.get(name)))
        for name in changed
        if name != _OFF and not name.startswith(f"{_SERVER_TOOL}:")
    ]
    tools = [name for name in changed if name.startswith(f"{_SERVER_TOOL}:")]
    found += _tool_changes(tools, marks, now, names)
    if _OFF in changed:
        off = marks.get(_OFF, "")
        text = f"These tools are switched off, do not call them: {off}." if off else "All tools may be called again."
        found.append(Change(_OFF, off, text))
    return found


def _holds_from(frozen: FrozenPrefix, messages: Sequence[MessageWithParts]) -> Callable[[Announcement], bool]:
    """Return a function that says whether an announcement was made with a frozen start or after it.

    By the order of the messages, which the clock does not change; by time only for a start without its request.
    """
    request = frozen.request
    if request is None:
        return lambda one: one.time >= frozen.time
    names = [message.info.id for message in messages]
    if request in names:
        at = names.index(request)
    else:  # it was compacted or undone
        at = next((index for index, name in enumerate(names) if is_before(request, name)), len(names))
    return lambda one: one.at >= at


def _tool_changes(changed: Sequence[str], marks: Mapping[str, str], now: Start, names: set[str]) -> list[Change]:
    """Return the changes of servers' tools; the text of all is at the first one."""
    added, gone, room = list[str](), list[str](), MAX_SCHEMAS
    for name in changed:
        tool = now.servers.get(name.partition(":")[2])
        if tool is None:
            gone.append(name.partition(":")[2])
            continue
        schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
        how = " (its schema has changed)" if tool.name in names else ""
        line = f"- {tool.name}{how}: {tool.description}\n  {schema}"
        room -= len(line)
        added.append(line if room >= 0 else f"- {tool.name}{how}")
    texts: list[str] = []
    if added:
        texts.append(
            "\n".join([f"Tools of MCP servers that were added or changed; call new ones with {CALL}:", *added])
        )
    if gone:
        texts.append(f"Tools of MCP servers that are gone: {', '.join(gone)}.")
    return [
        Change(name, marks.get(name), "\n\n".join(texts) if index == 0 else "") for index, name in enumerate(changed)
    ]


def _layer_text(name: str, before: FrozenLayer | None, after: FrozenLayer | None) -> str:
    kind, _, of = name.partition(":")
    if after is None:
        return f"The instructions from {of} no longer apply." if kind == INSTRUCTION else f"No longer applies: {name}."
    if kind == ENVIRONMENT:
        old = before.text.splitlines() if before is not None else []
        lines = [line for line in after.text.splitlines() if line not in old]
        return "\n".join(["The environment:", *(lines or after.text.splitlines())])
    if kind != INSTRUCTION:
        return f"These instructions replace the earlier ones ({name}):\n{after.text}"
    if before is None:
        return after.text
    if before.text == after.text:
        return f"The instructions from {of} are again those at the start of this conversation."
    import difflib  # few instructions are edited

    whole = f"These instructions replace the earlier ones from {of}:\n{after.text}"
    difference = "\n".join(
        difflib.unified_diff(
            before.text.splitlines(), after.text.splitlines(), n=1, lineterm="", fromfile=of, tofile=of
        )
    )
    diff = f"The instructions from {of} were edited. What differs from them as they are at the start:\n{difference}"
    return min(whole, diff, key=len)


def _marks(layers: Sequence[FrozenLayer], off: Sequence[str], servers: Mapping[str, ToolSpec]) -> dict[str, str]:
    """Return a mark of each fact by its name, in the order of the request."""
    marks = {_name(layer): _mark(layer.text) for layer in layers}
    for name, tool in servers.items():
        marks[f"{_SERVER_TOOL}:{name}"] = _mark(json.dumps([tool.description, tool.parameters], sort_keys=True))
    if off:
        marks[_OFF] = ", ".join(off)
    return marks


def _name(layer: FrozenLayer) -> str:
    return f"{layer.kind}:{layer.name}"


def _mark(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
