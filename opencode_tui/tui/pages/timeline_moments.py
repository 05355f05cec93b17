"""The content of the timeline: prompts, the steps that changed files, forks and compactions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage, UserMessage
from opencode_tui.schema.session.outline import OutlinedMessage
from opencode_tui.schema.session.part import CompactionPart, FilePart, PatchPart, StepStartPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.schema.tools import row_of
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.time_shares import TimeShares, time_shares
from opencode_tui.text.tool import argument_of, name_of, relative
from opencode_tui.tui.state.message import CompactionItem, MessageViews
from opencode_tui.tui.state.session_state import name_of as session_name

Seen = MessageWithParts | OutlinedMessage
"""A message as the timeline reads it: in outline where that is enough."""


@dataclass(slots=True)
class Step:
    """A row of a turn: a change of files, a fork, or the response. Texts are safe."""

    name: str
    text: str
    additions: int = 0
    deletions: int = 0
    session_id: str = ""
    messages: int = 0
    """Number of messages that a fork copied."""
    time: int = 0
    is_change: bool = False
    is_path: bool = False


@dataclass(slots=True)
class Moment:
    """One prompt, or a compaction (`is_rule`), with its steps; `diffs` are the changes of its turn, without the texts."""

    message_id: str
    time: int
    text: str
    is_rule: bool = False
    steps: list[Step] = field(default_factory=list[Step])
    diffs: Sequence[FileDiff] = ()
    tokens: int = 0
    """Tokens that the turn added: new input and output, without what a cache had."""
    compaction: CompactionItem | None = None

    @property
    def has_changes(self) -> bool:
        """Return whether the turn changed files, so that an undo to it restores some."""
        return bool(self.diffs) or any(one.is_change for one in self.steps)

    @property
    def additions(self) -> int:
        """Return the lines that the turn added."""
        return sum(one.additions for one in self.diffs or self.steps)

    @property
    def deletions(self) -> int:
        """Return the lines that the turn removed."""
        return sum(one.deletions for one in self.diffs or self.steps)


@dataclass(frozen=True, slots=True)
class Branch:
    """A fork: its creation time, safe title, session, and the first message that it omits (empty for none)."""

    time: int
    title: str
    session_id: str
    before: str = ""


def branches_of(below: Iterable[ListedSession], session_id: str | None) -> list[Branch]:
    """Return the forks of a session, the oldest first, of the sessions that came from it."""
    found = [
        Branch(info.created, session_name(info)[1], info.id, info.fork_before)
        for info in below
        if info.fork_of and info.fork_of == session_id
    ]
    return sorted(found, key=lambda one: (one.time, one.session_id))


class Moments:
    """The moments of a session, built from its end on: each call adds whole turns before those that are here.

    `found` is replaced and never changed, so that a page may show it while another thread adds more.
    """

    def __init__(self, branches: Sequence[Branch], *, root: str = "") -> None:
        """Paths of files in `root` are relative to it."""
        self.found: Sequence[Moment] = ()
        self.shares = TimeShares()
        self._root = root
        self._branches = list(branches)
        """Forks whose turn is not here yet."""
        self.following: Sequence[Seen] = ()
        """The first messages that are here."""

    def add(self, messages: Sequence[Seen], position: int = 0) -> None:
        """Add the messages directly before those that are here; `position` is how many come before them."""
        found: list[Moment] = []
        owners: list[Moment | None] = []
        """The moment of each message."""
        for message, following in zip(messages, [*messages[1:], None], strict=True):
            begun = _begun(message, following)
            if begun is not None:
                found.append(begun)
            elif found:
                _add_answer(found[-1], message, self._root)
            owners.append(found[-1] if found else None)
        if not self.following:
            _add_last_answer(found, messages)
        _add_compactions(found, messages, self.following)
        self._branches = [one for one in self._branches if not self._add_branch(one, messages, owners, position)]
        self.shares = self.shares.plus(time_shares(messages))
        self.following = [*messages[:WINDOW], *self.following][:WINDOW]
        self.found = [*found, *self.found]

    def _add_branch(
        self, branch: Branch, messages: Sequence[Seen], owners: Sequence[Moment | None], position: int
    ) -> bool:
        """Add a fork to the turn of the last message that it copied; return whether it branches off one of these messages."""
        count = _copied_count(branch, messages, self.following)
        moment = owners[count - 1] if count else None
        if moment is not None:
            copied = position + count
            moment.steps.append(
                Step("fork", branch.title, session_id=branch.session_id, messages=copied, time=branch.time)
            )
        return count > 0


def _begun(message: Seen, following: Seen | None) -> Moment | None:
    """Return the moment that a message begins; None for an answer, and for a message of the program."""
    if isinstance(message, OutlinedMessage):
        return _outlined_request(message) if message.text else None
    return _request(message, following) if isinstance(message.info, UserMessage) else None


def _add_answer(moment: Moment, message: Seen, root: str) -> None:
    """Add the tokens of an answer and its changes of files to the moment of its request."""
    if isinstance(message, OutlinedMessage):
        moment.tokens += 0 if message.text else message.tokens
    elif not isinstance(message.info, UserMessage):
        moment.tokens += _tokens(message.info)
        moment.steps += _steps(message, moment.diffs, root)


def begins_turn(message: Seen) -> bool:
    """Return whether a message is a prompt of the user: older messages do not change what is shown of it and what follows."""
    begun = _begun(message, None)
    return begun is not None and not begun.is_rule


def id_of(message: Seen) -> str:
    """Return the ID of a message."""
    return message.id if isinstance(message, OutlinedMessage) else message.info.id


def left_to_read(messages: Sequence[Seen], following: Sequence[Seen]) -> list[str]:
    """Return the IDs of those messages in outline of which more is shown, for what is around them."""
    row, wanted = [*messages, *following], set[int]()
    before = -1
    for at, message in enumerate(messages):
        if isinstance(message, OutlinedMessage):
            before = at if message.context else before
        elif _is_rule(message):
            wanted.update((before, *range(at, at + WINDOW)))
        elif isinstance(message.info, UserMessage):
            wanted.update([at + 1] if not _words(message) else [])
        elif message.info.tokens.context and not message.info.summary:
            before = at
    if not following:
        wanted.add(len(messages) - 1)
    chosen = (row[at] for at in sorted(wanted) if 0 <= at < len(row))
    return [one.id for one in chosen if isinstance(one, OutlinedMessage)]


def _is_rule(message: MessageWithParts) -> bool:
    return any(isinstance(part, CompactionPart) for part in message.parts)


def _words(message: MessageWithParts) -> str:
    """Return what the user wrote or attached in a request."""
    words = [part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic]
    files = [f"[{part.filename or part.mime}]" for part in message.parts if isinstance(part, FilePart)]
    return " ".join(" ".join(words or files).split())


def _outlined_request(message: OutlinedMessage) -> Moment | None:
    text = screen_line(" ".join(message.text.split()))
    if not text:
        return None
    diffs = [FileDiff.trusted(file=file, additions=added, deletions=gone) for file, added, gone in message.diffs]
    return Moment(message.id, message.created, text, diffs=diffs)


def _tokens(info: AnyMessage) -> int:
    if not isinstance(info, AssistantMessage):
        return 0
    return info.tokens.input + info.tokens.output + info.tokens.cache.write  # the output includes the reasoning


def _request(message: MessageWithParts, following: Seen | None) -> Moment | None:
    """Return the moment of a request, or of the command line that the user ran; None for a message of the program."""
    info = message.info
    if _is_rule(message):
        return Moment(info.id, info.time.created, "Compacted", is_rule=True)
    text = screen_line(_words(message) or _command_line(following))
    return Moment(info.id, info.time.created, text, diffs=[*map(_without_texts, diffs_of(info))]) if text else None


def diffs_of(info: AnyMessage) -> Sequence[FileDiff]:
    """Return the changes that are stored with a request."""
    summary = info.summary if isinstance(info, UserMessage) else None
    return summary.diffs if summary else ()


def _without_texts(diff: FileDiff) -> FileDiff:
    """Return a change without the two states of its file, which would need much memory for all turns of a long session."""
    return FileDiff.trusted(file=diff.file, additions=diff.additions, deletions=diff.deletions)


def _command_line(answer: Seen | None) -> str:
    """Return `! ls` for a command of the user, which has an answer without a step of a model; else nothing."""
    parts = answer.parts if isinstance(answer, MessageWithParts) else ()
    calls = [part for part in parts if isinstance(part, ToolPart | StepStartPart)]
    return f"! {argument_of(calls[0])}" if calls and isinstance(calls[0], ToolPart) else ""


def _steps(message: MessageWithParts, diffs: Sequence[FileDiff], root: str) -> list[Step]:
    """Return the calls that changed files; other changes belong to the last call of another tool."""
    steps: list[Step] = []
    edited: set[str] = set()
    other: ToolPart | None = None
    for part in message.parts:
        if not isinstance(part, ToolPart):
            continue
        edits = row_of(part.tool).edits
        if edits and isinstance(part.state, ToolStateCompleted):
            path = argument_of(part, root)
            edited |= {path, *path.split(", ")}
            steps.append(Step(name_of(part.tool), path, *_counts(part.state), is_change=True, is_path=True))
        elif not edits:
            other = part
    patched = [relative(file, root) for part in message.parts if isinstance(part, PatchPart) for file in part.files]
    rest = [file for file in dict.fromkeys(patched) if screen_line(file) not in edited]
    if rest:
        known = {one.file: one for one in diffs}
        added, removed = (sum(getattr(known[one], name) for one in rest if one in known) for name in _COUNTS)
        name, text = (name_of(other.tool), argument_of(other, root)) if other is not None else ("", "")
        steps.append(Step(name or "changed", text or screen_line(", ".join(rest)), added, removed, is_change=True))
    return steps


_COUNTS = ("additions", "deletions")


def _counts(state: ToolStateCompleted) -> tuple[int, int]:
    """Return the lines that a call added and removed."""
    diff = str(state.metadata.get("diff") or "")
    signs = [line[0] for line in diff.split("\n") if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
    if signs:
        return signs.count("+"), signs.count("-")
    reported: object = state.metadata.get("filediff")
    counts = [cast(JsonObject, reported).get(name) if isinstance(reported, dict) else 0 for name in _COUNTS]
    added, removed = (count if isinstance(count, int) else 0 for count in counts)
    return added, removed


def _add_last_answer(found: Sequence[Moment], messages: Sequence[Seen]) -> None:
    """Add the response to the last turn."""
    last = next((one for one in reversed(found) if not one.is_rule), None)
    gist = _gist(messages)
    if last is not None and gist:
        last.steps.append(Step("response", gist))


def _gist(messages: Sequence[Seen]) -> str:
    """Return the first line of the last response, if the conversation ends with one."""
    last = messages[-1] if messages else None
    if (
        not isinstance(last, MessageWithParts)
        or not isinstance(last.info, AssistantMessage)
        or last.info.summary
        or last.info.finish is None
    ):
        return ""
    texts = [part.text.strip() for part in last.parts if isinstance(part, TextPart) and not part.synthetic]
    return screen_line(next((text for text in texts if text), "").partition("\n")[0])


WINDOW = 5
"""Messages from a compaction's marker to the first step after it."""


def _add_compactions(found: Sequence[Moment], messages: Sequence[Seen], following: Sequence[Seen]) -> None:
    """Set how many tokens there were before and after each compaction, as the chat computes it."""
    rules = {one.message_id: one for one in found if one.is_rule}
    if not rules:
        return
    before: MessageWithParts | None = None
    for at, message in enumerate(messages):
        if isinstance(message, OutlinedMessage):
            continue  # `left_to_read` has those that are needed
        if (rule := rules.get(message.info.id)) is not None:
            views = MessageViews()
            window = [*messages[at : at + WINDOW], *following][:WINDOW]
            for one in [before, *window]:
                if not isinstance(one, MessageWithParts):
                    continue
                view = views.add(one.info)
                for part in one.parts:
                    view.put(part)
            views.measure_compactions()
            marker = views.get(rule.message_id)
            rule.compaction = marker.compaction if marker is not None else None
        if isinstance(message.info, AssistantMessage) and not message.info.summary and message.info.tokens.context:
            before = message


def _copied_count(branch: Branch, messages: Sequence[Seen], following: Sequence[Seen]) -> int:
    """Return how many of these messages a fork copied; 0 where it branches off older ones, or at a message that is gone."""
    if branch.before:
        ids = [id_of(one) for one in (*messages, *following[:1])]
        return ids.index(branch.before) if branch.before in ids else 0
    return sum(_created(one) <= branch.time for one in messages)


def _created(message: Seen) -> int:
    return message.created if isinstance(message, OutlinedMessage) else message.info.time.created
