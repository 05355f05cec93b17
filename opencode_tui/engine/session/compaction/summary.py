"""The summary that replaces old messages: the request for it, what code keeps beside it, and the one made before it is needed.

The request: the conversation as plain text, shortened to fit, with the instructions for the model. What is kept verbatim does not
depend on a model: the user's last request, their rules, todos, files; it is a text of the marker message, built from the records at
each compaction, so that nothing is lost from summary to summary. Rules in files are not included: they are part of every system
prompt. A summary is prepared in the background when the context passes a share of its usable size, so that no turn waits for it. It
is kept in memory and is valid only for the messages that it was made from: when they change (undo, prune, edit, another model), it
is discarded and its cost is added to the session. After a failure, or without room in a budget, the compaction at the limit asks
the model as usual. Source: docs/internals/compaction.md.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.agent.agents import read_prompt
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.complete import Completion, ask, with_cost
from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    MediaBlock,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.compaction.state import OverflowRules, usable
from opencode_tui.engine.session.plugin_hooks import advise_compaction, change_request
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.history import compaction_of
from opencode_tui.engine.session.request.model_message import CONTINUE, to_model_messages
from opencode_tui.engine.session.tokens.characters import CHARACTERS
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.error import NotFoundError, ProviderError, SessionError
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import FilePart, PatchPart, SubtaskPart, TextPart, ToolPart
from opencode_tui.schema.session.session import Todo
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.schema.tools import row_of

# The conversation as plain text, shortened to fit, with the instructions for the model.

Measure = Callable[[str], int]
"""Returns the tokens of a text."""

MEDIA_TOKENS = 1_600
"""Tokens counted for an image; documents take more, and are removed first."""

OMITTED = "(Older messages were omitted here: the conversation is too long.)"
_SHORT_OUTPUT, _SHORT_TEXT = 300, 1_500
"""Characters to which tool outputs and texts are shortened."""


@dataclass(slots=True)
class _Piece:
    """A piece of the conversation in a summary request."""

    role: Literal["user", "assistant"]
    kind: Literal["text", "call", "result", "media"]
    text: str
    media: MediaBlock | None = None
    is_fixed: bool = False


def conversation_text(
    entries: Sequence[ModelMessage],
    *,
    room: int | None,
    measure: Measure,
    instruction: str,
    has_summary: bool = False,
) -> tuple[ModelMessage, ...]:
    """Return the conversation as text within `room` tokens (any size without it), ending with the instruction.

    With `has_summary` it starts with an earlier summary, which is not shortened: it covers everything before.
    """
    pieces = [piece for entry in entries for piece in _pieces(entry)]
    if has_summary:
        answer = next((place for place, piece in enumerate(pieces) if piece.role == "assistant"), -1)
        for piece in pieces[: answer + 1]:
            piece.is_fixed = True
    if room is not None:
        pieces = _fitting(pieces, room - measure(instruction), measure)
    if pieces and pieces[0].role == "assistant":
        pieces.insert(0, _Piece("user", "text", OMITTED))
    return tuple(_assembled([*pieces, _Piece("user", "text", instruction)]))


def _pieces(entry: ModelMessage) -> Iterator[_Piece]:
    match entry:
        case UserEntry():
            for block in entry.content:
                yield _media_piece(block) if isinstance(block, MediaBlock) else _Piece("user", "text", block.text)
        case AssistantEntry():
            for block in entry.content:
                match block:
                    case TextBlock():
                        yield _Piece("assistant", "text", block.text)
                    case CallBlock():
                        arguments = json.dumps(block.input, ensure_ascii=False)
                        yield _Piece("assistant", "call", f"[called {block.tool} {arguments}]")
                    case ThinkingBlock():
                        pass
        case ToolEntry():
            for result in entry.results:
                yield from _result_pieces(result)


def _result_pieces(result: ResultBlock) -> Iterator[_Piece]:
    yield _Piece("user", "result", f"[{result.tool} {'failed' if result.is_error else 'gave'}]\n{result.text}")
    yield from map(_media_piece, result.media)


def _media_piece(block: MediaBlock) -> _Piece:
    return _Piece("user", "media", f"[attachment {block.filename or block.mime}]", block)


def _fitting(pieces: list[_Piece], room: int, measure: Measure) -> list[_Piece]:
    """Return the pieces shortened, oldest first, until they fit."""
    excess = sum(_size(piece, measure) for piece in pieces) - room
    for shorten in (_without_media, _short_output, _short_text):
        for piece in pieces:
            if excess <= 0:
                return pieces
            if piece.is_fixed:
                continue
            before = _size(piece, measure)
            shorten(piece)
            excess -= before - _size(piece, measure)
    return _without_beginning(pieces, excess, measure) if excess > 0 else pieces


def _without_beginning(pieces: list[_Piece], excess: int, measure: Measure) -> list[_Piece]:
    """Return the pieces without the oldest ones, and with the last one cut if even that is too large."""
    start = at = sum(piece.is_fixed for piece in pieces)
    while excess > 0 and at < len(pieces) - 1:
        excess -= _size(pieces[at], measure)
        at += 1
    if excess > 0 and pieces:
        size = max(1, _size(pieces[-1], measure))
        pieces[-1].text = pieces[-1].text[: max(0, size - excess) * len(pieces[-1].text) // size]
    return pieces if at == start else [*pieces[:start], _Piece("user", "text", OMITTED), *pieces[at:]]


def _size(piece: _Piece, measure: Measure) -> int:
    return MEDIA_TOKENS if piece.media is not None else measure(piece.text)


def _without_media(piece: _Piece) -> None:
    piece.media = None


def _short_output(piece: _Piece) -> None:
    if piece.kind in ("result", "call"):
        piece.text = _shortened(piece.text, _SHORT_OUTPUT)


def _short_text(piece: _Piece) -> None:
    piece.text = _shortened(piece.text, _SHORT_TEXT)


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _assembled(pieces: Sequence[_Piece]) -> Iterator[ModelMessage]:
    for role, group in groupby(pieces, lambda piece: piece.role):
        if role == "user":
            yield UserEntry(tuple(piece.media or TextBlock(piece.text) for piece in group))
        else:
            yield AssistantEntry((TextBlock("\n".join(piece.text for piece in group)),))


AGENT = "compaction"
ATTEMPTS = (1.0, 0.5)
"""Shares of the available size for the attempts at one summary."""

_UNKNOWN_ROOM = 120_000
_SUMMARY_SHARE = 6
"""Divisor of the usable context that gives the maximum size of a summary."""
_LEAST_SUMMARY, _MOST_SUMMARY = 500, 16_000
_LEAST_WORDS, _MOST_WORDS = 150, 1_500
_SHORT = 1_000
"""Tokens that a summary may always take, however short the summarized messages are."""
_SLACK = 0.06
"""Share of a model's limit that stays free, because sizes are estimates."""
_BROKEN = ("error", "content-filter")


class SummaryRequest(Struct, frozen=True):
    """A request for a summary of at most `size` tokens, and the check of its result."""

    request: LlmRequest
    size: int
    estimator: TokenEstimator

    def fault_of(self, text: str, reason: str) -> str | None:
        """Return the problem of a summary, None when it is usable."""
        ref = self.request.model.ref
        if reason in _BROKEN or not text.strip():
            return f"{ref} returned no summary; choose another model with agent.compaction.model in opencode.json"
        if self.estimator.estimate_text(text, self.request.model) > self.size:
            return (
                f"{ref} returned a summary longer than the summarized messages; "
                "choose another model with agent.compaction.model in opencode.json, or start a new session"
            )
        return None


class SummaryRequests(Struct, frozen=True):
    """Builds requests for summaries of one folder's sessions."""

    agents: AgentRegistry
    catalog: Catalog
    hooks: Hooks
    estimator: TokenEstimator
    rules: OverflowRules

    def model(self, user: UserMessage, wanted: ModelRef | None = None) -> Model:
        """Return the model for summaries: the wanted one, else the compaction agent's, else that of the conversation."""
        agent = self.agents.get(AGENT)
        chosen = wanted or (agent.model if agent else None) or user.model
        return self.catalog.resolve(self.catalog.or_default(chosen) if chosen == user.model else chosen)

    async def attempts(
        self,
        old: Sequence[MessageWithParts],
        user: UserMessage,
        model: Model,
        *,
        limit: int | None = None,
        focus: str = "",
    ) -> AsyncIterator[SummaryRequest]:
        """Yield the requests to try, each shorter than the one before; `limit` is the limit that the provider reported."""
        for share in ATTEMPTS:
            yield await self.build(old, user, model, limit=limit, share=share, focus=focus)

    async def build(
        self,
        old: Sequence[MessageWithParts],
        user: UserMessage,
        model: Model,
        *,
        limit: int | None = None,
        share: float = 1.0,
        focus: str = "",
    ) -> SummaryRequest:
        """Return the request for a summary of these messages, shortened to `share` of the model's available context."""
        agent = self.agents.get(AGENT)
        output, words = self._sizes(model)
        system = (agent.prompt if agent else None) or read_prompt(AGENT)
        entries = _without_continue(to_model_messages(old, model))
        instruction = await self._instruction(user.session_id, words)
        if focus:
            instruction += f"\n\nThe user asks the summary to focus on: {focus}"

        def measure(text: str) -> int:
            return self.estimator.estimate_text(text, model) + 1

        room = _room(model, output, limit) - measure(system)
        request = LlmRequest(
            model=model,
            system=(system,),
            messages=conversation_text(
                entries,
                room=int(room * share),
                measure=measure,
                instruction=instruction,
                has_summary=bool(old) and compaction_of(old[0]) is not None,
            ),
            max_output=output,
            temperature=agent.temperature if agent and model.temperature else None,
            top_p=agent.top_p if agent else None,
            options=agent.options if agent else {},
        )
        request = await change_request(self.hooks, request, user, AGENT)
        size = max(_SHORT, min(output, self.estimator.estimate(request)))
        return SummaryRequest(request, size, self.estimator)

    async def _instruction(self, session_id: str, words: int) -> str:
        added, replaced = await advise_compaction(self.hooks, session_id)
        prompt = replaced or read_prompt("compaction_request").replace("{words}", str(words))
        return "\n\n".join([prompt, *added])

    def _sizes(self, model: Model) -> tuple[int, int]:
        """Return the maximum tokens of the answer, reasoning included, and the number of words to ask for."""
        room = usable(model, self.rules) or _UNKNOWN_ROOM
        summary = min(_MOST_SUMMARY, max(_LEAST_SUMMARY, room // _SUMMARY_SHARE))
        most = min(model.limit.output or self.rules.output_max, self.rules.output_max)
        return min(most, summary * 2 if model.reasoning else summary), min(_MOST_WORDS, max(_LEAST_WORDS, summary // 3))


def _without_continue(entries: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """Return a conversation without the request to continue that is added after a last answer."""
    return entries[:-1] if entries and entries[-1] == UserEntry((TextBlock(CONTINUE),)) else entries


def newest_request(messages: Sequence[MessageWithParts]) -> UserMessage:
    """Return the newest user message. Raises SessionError when there is none."""
    for message in reversed(messages):
        if isinstance(message.info, UserMessage):
            return message.info
    raise SessionError("there is nothing to summarize: the session has no messages")


def _room(model: Model, output: int, limit: int | None) -> float:
    """Return the maximum tokens of a summary request."""
    window = limit or model.limit.context
    rooms = [window - output] if window else [_UNKNOWN_ROOM]
    if model.limit.input:
        rooms.append(model.limit.input)
    return min(rooms) * (1 - _SLACK)


HEAD = "Kept verbatim from the summarized messages:"
_LAST_SHARE, _RULES_SHARE, _EARLIER_SHARE = 4, 16, 16
"""Shares of the usable context (1/N) for the last request, the rules and earlier requests."""
_MAX_RULES, _MAX_EARLIER = 4_000, 4_000
"""Maximum tokens of rules and of earlier requests, however large the context."""
_RULE_LENGTH, _REQUEST_LENGTH, _COMMAND_LENGTH = 500, 800, 300
_MAX_CHANGED, _MAX_READ = 80, 15
_CLOSED = ("completed", "cancelled")

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_STANDING = re.compile(
    r"\b(?:always|never|from now on|every time|whenever|at all times|must(?: not|n't)?|do not|don't|only ever|remember|"
    r"immer|niemals?|ab jetzt|merk dir|toujours|jamais|désormais|siempre|nunca|a partir de ahora|sempre|mai|"
    r"всегда|никогда|отныне)\b|总是|始终|永远|从现在|以后|每次|必须|务必|不要|不得|禁止|切勿|记住|常に|必ず|今後|毎回|禁止|覚えて|しないで|항상|절대|반드시",
    re.IGNORECASE,
)


class PreservedSources(Struct, frozen=True):
    """The input: all messages of the session, its open and closed todos, the folder that paths are relative to.

    `commands` are the session's background commands that run now.
    `room` is the usable context in tokens; messages from `tail_id` on are still sent in full.
    """

    messages: Sequence[MessageWithParts]
    todos: Sequence[Todo]
    worktree: Path
    room: int
    tail_id: str | None = None
    commands: Sequence[BackgroundCommand] = ()


def preserved_text(sources: PreservedSources) -> str:
    """Return the preserved text, in sections; empty when there is nothing to preserve."""
    asked = [(message.info.id, text) for message in sources.messages if (text := user_text(message))]
    old, is_last_sent = _before_tail(asked, sources)
    sections = [
        ("The user's rules", _rules(old, sources.room)),
        ("Earlier user requests", _earlier(old if is_last_sent else old[:-1], sources.room)),
        ("Open todos", [_todo_line(todo) for todo in sources.todos if todo.status not in _CLOSED]),
        ("Background commands that run, for bash_output", [_command_line(one, sources) for one in sources.commands]),
        ("Files changed", _files(sources, _changed_files(sources.messages), _MAX_CHANGED)),
        ("Files read last", _files(sources, _read_files(sources.messages), _MAX_READ)),
        ("The user's last request", [] if is_last_sent or not old else [_last(old[-1], sources.room)]),
    ]
    blocks = [f"## {title}\n" + "\n".join(lines) for title, lines in sections if lines]
    return "\n\n".join([HEAD, *blocks]) if blocks else ""


def user_text(message: MessageWithParts) -> str:
    """Return what the user wrote in a message, attachments by name; empty for any other message."""
    if not isinstance(message.info, UserMessage) or compaction_of(message) is not None:
        return ""
    words: list[str] = []
    for part in message.parts:
        match part:
            case TextPart() if not part.synthetic and not part.ignored:
                words.append(part.text.strip())
            case FilePart():
                words.append(f"[attached: {part.filename or part.mime}]")
            case SubtaskPart():
                words.append(part.prompt.strip())
            case _:
                pass
    return "\n".join(word for word in words if word)


def _before_tail(asked: list[tuple[str, str]], sources: PreservedSources) -> tuple[list[str], bool]:
    """Return the requests that are no longer sent, and whether the last one still is."""
    order = {message.info.id: place for place, message in enumerate(sources.messages)}
    start = order.get(sources.tail_id or "", len(order))
    old = [text for message_id, text in asked if order[message_id] < start]
    return old, len(old) < len(asked)


def _last(text: str, room: int) -> str:
    return _cut_middle(text, room // _LAST_SHARE * CHARACTERS)


def _rules(requests: Sequence[str], room: int) -> list[str]:
    """Return the sentences in which the user stated a lasting rule, oldest first; the newest have precedence."""
    found = dict.fromkeys(rule for text in requests for rule in _rule_sentences(text))
    return [f"- {rule}" for rule in _newest(list(found), min(_MAX_RULES, room // _RULES_SHARE) * CHARACTERS)]


def _rule_sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        if _STANDING.search(sentence):
            yield _cut_middle(" ".join(sentence.split()), _RULE_LENGTH)


def _earlier(requests: Sequence[str], room: int) -> list[str]:
    short = [_cut_middle(" ".join(text.split()), _REQUEST_LENGTH) for text in requests]
    return [f"- {text}" for text in _newest(short, min(_MAX_EARLIER, room // _EARLIER_SHARE) * CHARACTERS)]


def _newest(texts: Sequence[str], limit: int) -> list[str]:
    """Return as many of the newest texts as fit into `limit` characters, oldest first."""
    kept: list[str] = []
    for text in reversed(texts):
        limit -= len(text) + 3
        if limit < 0:
            break
        kept.append(text)
    return kept[::-1]


def _todo_line(todo: Todo) -> str:
    mark = {"in_progress": "in progress"}.get(todo.status, todo.status)
    return f"- [{mark}] {todo.content}"


def _command_line(command: BackgroundCommand, sources: PreservedSources) -> str:
    words = _cut_middle(" ".join(command.command.split()), _COMMAND_LENGTH)
    folder = _relative(command.directory, sources.worktree)
    return f"- {command.id}: {words}" + ("" if folder == "." else f" (in {folder})")


def _files(sources: PreservedSources, paths: Sequence[str], most: int) -> list[str]:
    """Return the latest paths in order of last use, relative to the worktree when they are in it."""
    shown = list(dict.fromkeys(_relative(path, sources.worktree) for path in reversed(paths)))
    left = [f"- (and {len(shown) - most} older ones)"] if len(shown) > most else []
    return [*left, *(f"- {path}" for path in reversed(shown[:most]))]


def _changed_files(messages: Sequence[MessageWithParts]) -> list[str]:
    found: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, PatchPart):
                found.extend(part.files)
            elif isinstance(part, ToolPart) and row_of(part.tool).edits and isinstance(part.state, ToolStateCompleted):
                found.extend(_paths(part.state))
    return found


def _read_files(messages: Sequence[MessageWithParts]) -> list[str]:
    return [
        path
        for message in messages
        for part in message.parts
        if isinstance(part, ToolPart) and part.tool == "read" and isinstance(part.state, ToolStateCompleted)
        for path in _paths(part.state)
    ]


def _paths(state: ToolStateCompleted) -> list[str]:
    """Return the files that a call names, or that its patch changed."""
    patched: list[dict[str, object]] = state.metadata.get("files") or []
    given = [state.input.get("filePath"), *(file.get("movePath") or file.get("filePath") for file in patched)]
    return [path for path in given if isinstance(path, str) and path]


def _relative(path: str, worktree: Path) -> str:
    given = Path(path)
    return str(given.relative_to(worktree)) if given.is_relative_to(worktree) else path


def _cut_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} […{len(text) - 2 * half} characters left out…] {text[-half:]}"


class Precomputed(Struct, frozen=True):
    """A summary of the first `count` messages of what was sent to a model at that time."""

    completion: Completion
    count: int
    digest: str
    model: ModelRef
    """The model of the conversation."""


class _Work:
    """One precomputation: running, ready, or failed (`ready` is None then)."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.ready: Precomputed | None = None


class PrecomputedSummaries:
    """Precomputes summaries for one folder's sessions, one at a time for each."""

    def __init__(
        self,
        *,
        requests: SummaryRequests,
        background: Background,
        store: SessionStore,
        budgets: Budgets,
    ) -> None:
        self._requests = requests
        self._background = background
        self._store = store
        self._budgets = budgets
        self._work: dict[str, _Work] = {}
        background.at_close(self.close)

    def is_begun(self, session_id: str) -> bool:
        """Return whether a summary of the session is running, ready or failed."""
        return session_id in self._work

    def begin(self, session_id: str, old: Sequence[MessageWithParts], model: Model) -> None:
        """Start to summarize these messages; replaces an earlier precomputation."""
        work = self._work[session_id] = _Work()
        name = f"precomputing a summary of session {session_id}"
        work.task = self._background.start(self._prepare(work, list(old), model), name=name)

    async def consume(
        self,
        session_id: str,
        sent: Sequence[MessageWithParts],
        model: Model,
        *,
        accept: Callable[[Precomputed], bool],
    ) -> Precomputed | None:
        """Return the summary of the first messages of `sent`, None without one; waits for one that is running.

        A summary that `accept` rejects is discarded.
        """
        work = self._work.get(session_id)
        if work is None:
            return None
        if work.task is not None:
            await asyncio.wait({work.task})
        prepared = work.ready
        if prepared is None or not (_covers(prepared, sent, model) and accept(prepared)):
            await self.discard(session_id)
            return None
        del self._work[session_id]
        return prepared

    async def check(self, session_id: str, sent: Sequence[MessageWithParts], model: Model) -> None:
        """Discard a summary that no longer matches the first messages of `sent`."""
        work = self._work.get(session_id)
        ready = work.ready if work is not None else None
        if ready is not None and not _covers(ready, sent, model):
            await self.discard(session_id)

    async def discard(self, session_id: str) -> None:
        """Cancel a precomputation or discard its summary; its cost is added to the session."""
        work = self._work.pop(session_id, None)
        if work is None:
            return
        if work.task is not None and not work.task.done():
            work.task.cancel()
            await asyncio.wait({work.task})
        if work.ready is not None:
            await self._record_cost(session_id, work.ready.completion.cost)

    def cancel(self, session_id: str) -> None:
        """Cancel a running precomputation; returns at once."""
        work = self._work.get(session_id)
        if work is not None and work.task is not None and not work.task.done():
            del self._work[session_id]
            work.task.cancel()

    async def close(self) -> None:
        """Discard everything."""
        for session_id in tuple(self._work):
            await self.discard(session_id)

    async def _prepare(self, work: _Work, old: list[MessageWithParts], model: Model) -> None:
        user = newest_request(old)
        summarizer = self._requests.model(user)
        request = await self._requests.build(old, user, summarizer)
        async with self._budgets.reserved_if_free(user.session_id, request.request) as llm:
            if llm is None:
                return
            completion = await ask(llm, request.request)
        fault = request.fault_of(completion.text, completion.reason)
        if fault is not None:
            await self._record_cost(user.session_id, completion.cost)
            raise ProviderError(fault, provider_id=summarizer.provider_id)
        work.ready = Precomputed(completion, len(old), _digest(old, model), model.ref)

    async def _record_cost(self, session_id: str, cost: Decimal) -> None:
        with suppress(NotFoundError):
            await self._store.update(session_id, lambda info: with_cost(info, cost), touch=False)


def _covers(prepared: Precomputed, sent: Sequence[MessageWithParts], model: Model) -> bool:
    return prepared.model == model.ref and prepared.digest == _digest(sent[: prepared.count], model)


def _digest(messages: Sequence[MessageWithParts], model: Model) -> str:
    """Return a hash of messages as a model sees them."""
    digest = hashlib.sha256()
    for entry in to_model_messages(messages, model):
        for block in entry.results if isinstance(entry, ToolEntry) else entry.content:
            digest.update(f"{type(entry).__name__} {_fingerprint(block)}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _fingerprint(block: object) -> str:
    """Return a text that identifies a block; of media only size, start and end."""
    if isinstance(block, MediaBlock):
        return f"{block.mime} {block.filename} {len(block.data)} {block.data[:100]} {block.data[-100:]}"
    if isinstance(block, ResultBlock):
        return f"{block.id} {block.tool} {block.is_error} {block.text} {[_fingerprint(one) for one in block.media]}"
    return repr(block)
